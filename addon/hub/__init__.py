"""The hub: a proxy that sends what it has refreshed over one channel, and the edges that take it from there."""
