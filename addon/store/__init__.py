"""The store: what outlives the process.

It holds copies, histories, counts and plans, in Valkey, Redis or memory.
"""
