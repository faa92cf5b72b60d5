"""The environment of the addon in a replay: an origin, a client connection and a store.

`origin` returns the version that each object of a trace has at the current time, `proxy` sends requests through the
live code, and `store` is an embedded store, whose failure ends the replay.
"""
