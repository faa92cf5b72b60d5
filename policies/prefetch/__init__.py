"""Prefetching: how often, when and in which slot objects are refreshed without a request.

`table` lists the allocations and objectives.
"""
