"""The decisions of a cache as pure functions of update histories, without I/O, clock or logging.

`models` describes how an object changes; `validation` decides until when a copy may be served without contacting the
origin; `prefetch` decides which objects are refreshed without a request, how often and when.
"""
