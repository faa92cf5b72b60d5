"""Validation policies, which decide when a copy expires.

`rules` are the policies that learn from update histories, `baselines` those for comparison, one file each; `table`
lists all of them, and `machinery` is what they share.
"""
