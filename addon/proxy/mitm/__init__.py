"""The side of the proxy that faces mitmproxy: layers, hooks, sockets. Only this folder uses mitmproxy's internals."""
