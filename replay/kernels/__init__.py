"""The kernels of the fast engines: requests and updates as arrays, and the loops that replay them.

Kernels do not depend on single policies. `rule` converts a policy to numbers; `compiled` compiles the loops together
with the policy's own function, using `compilable` and `compiling`.

For complete histories `arrays.streams` sorts the requests, `packed` and `histories` store the updates of objects and
groups, `walk` has the loop, and `complete_features` the features at a contact.

For observed histories `arrays.stream_ids` numbers the streams, `truth` stores the true updates, `learning` adds the
observations of contacts to `tallies` and `membership`, `observed` has the loop, and `observed_features` the features.
"""
