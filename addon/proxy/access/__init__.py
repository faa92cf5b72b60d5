"""Access control: who may use the proxy, which addresses are reachable, and the limits on resources."""
