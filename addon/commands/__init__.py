"""The commands for the proxy, one file each."""
