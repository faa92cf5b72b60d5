"""Replays: what would have happened, from recorded traces through the functions that the proxy calls live.

`traces` reads what a `scenario` is made of; `engines` chooses what replays it: `plain`, the readable reference, the
`fast` ones or `through_addon`. `counts` is what is counted, and `report` shows it. `sweep` compares many policies,
`recommend` chooses one for each domain, `refresh` and `polling` replay contacts without requests, and `planning` plans
them. `papers` reproduces the papers' tables and figures.
"""
