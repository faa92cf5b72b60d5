"""mitmproxy's side of the proxy: its layers, hooks and sockets. Its internals are used here alone."""
