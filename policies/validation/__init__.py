"""Validation policies: when a copy expires. `rules` learn, `baselines` are for comparison, `machinery` is shared.

One file a policy; `table` lists them.
"""
