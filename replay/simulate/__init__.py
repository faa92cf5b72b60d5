"""A trace through policies: the engines, from the readable one to the proxy's own code."""
