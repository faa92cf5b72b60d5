"""Feeds in the proxy: reading them, and sending deltas to feed readers that request them."""
