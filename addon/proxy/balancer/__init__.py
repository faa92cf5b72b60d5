"""Load balancers before the proxy, which state the addresses of their clients."""
