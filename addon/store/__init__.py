"""The store, which outlives the process.

Copies, histories, group counts, in Valkey or Redis or, without them, in memory.
"""
