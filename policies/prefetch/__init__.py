"""Prefetching: how often, when and in which slot objects are refreshed without a request.

Table.py names the objectives.
"""
