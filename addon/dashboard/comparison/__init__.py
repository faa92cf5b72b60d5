"""The comparison of policies on the proxy's own traffic, by commands in processes of their own."""
