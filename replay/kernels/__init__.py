"""What `fast` and `fast_observed` run: requests and updates laid out as arrays, and kernels that decide over them.

`rule` puts a policy into numbers, and `deciding` says which of its formulas decides.

For complete histories: `streams` sorts the requests, `packed` lays out the updates, `histories` those of all objects
and groups. `compiled` (`walk` by numba) and `vectorised` (numpy) are twins: they take the same arguments and give the
same counts, decision by decision those of `replay.plain`.

For observed histories: `stream_ids` numbers the streams, `truth` lays out the updates, `learning` fills `tallies` and
`membership` with what contacts show, and `observed` replays. `compiled_observed` and `interpreted_observed` are twins.
"""
