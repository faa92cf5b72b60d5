"""Policies: how decisions are made. Pure functions of what is known, without I/O, clock or logging.

`models` says what is known of an object; `validation` says until when a copy may be served without asking; `prefetch`
says what is fetched without being asked for, how often and when.
"""
