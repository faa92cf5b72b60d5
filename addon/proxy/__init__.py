"""The running proxy: mitmproxy's side, exchanges, contacts with origins, access, and the service that joins them."""
