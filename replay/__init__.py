"""What would have happened: recorded traces through the functions that the proxy calls live.

`traces` reads, `plain` is the readable reference engine, `counts` is what is reported.
"""
