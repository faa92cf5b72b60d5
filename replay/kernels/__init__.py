"""The kernels of `fast` and `fast_observed`: requests and updates as arrays, and loops that replay them.

No policy is known here. `rule` puts one into numbers; `compiled` compiles the loops, with the policy's own function, by
means of `compilable` and `compiling`.

For complete histories: `arrays.streams` sorts the requests, `packed` lays out the updates, `histories` those of all
objects and groups; `walk` replays, and `complete_features` says what is known at a contact.

For observed histories: `arrays.stream_ids` numbers the streams, `truth` lays out the updates, `learning` fills
`tallies` and `membership` with what contacts show; `observed` replays, and `observed_features` says what is known.
"""
