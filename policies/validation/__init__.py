"""When a copy expires. `rules` learn, `baselines` are what they are measured against, `machinery` is what both share.

One file a policy; `table` lists them.
"""
