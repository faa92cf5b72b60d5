"""What `fast` runs: requests and updates laid out as arrays, and two kernels that decide over them.

`streams` sorts the requests, `packed` lays out the updates, `rule` puts a policy into numbers. `compiled` (numba) and
`vectorised` (numpy) are twins: they take the same arguments and give the same counts, decision by decision those of
`replay.plain`.

For observed histories: `stream_ids` numbers the streams, `truth` lays out the updates, `learning` fills `tallies` and
`membership` with what contacts show, and `observed` decides. `compiled_observed` and `interpreted_observed` are twins.
"""
