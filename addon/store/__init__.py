"""The store, which outlives the process: copies, histories, group counts, in Valkey or Redis or, without them, in
memory.
"""
