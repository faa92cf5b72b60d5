"""Feeds, sans-IO: the bytes of RSS, Atom, RDF and JSON Feed in, their items and hints out; and bytes with fewer items.

Imports nothing of ours; lxml and brotli do the reading. Whatever the bytes are, work and memory are bounded.
"""
