"""Replays of recorded traces through the functions that the live proxy calls.

`traces` reads traces. `simulate` replays a scenario under a policy with one of its engines, and counts the outcomes.
`sweeps` compares many policies over several processes, `report` shows the counts, and `recommend` chooses a policy for
each domain. `planning` plans contacts without requests. `papers` reproduces the papers' tables and figures.
"""
