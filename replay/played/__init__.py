"""The environment of the addon in a replay: an origin that plays the updates, a client, a store of its own.

`origin` says what the objects of a trace are at each moment, `proxy` answers requests by the code that runs live, and
`store` is real, but must never be away.
"""
