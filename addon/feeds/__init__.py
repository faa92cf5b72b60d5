"""Feeds, sans-IO: from the bytes of RSS, Atom, RDF and JSON Feed to items and hints, and to documents with fewer items.

Imports nothing of ours; lxml and brotli do the reading. Whatever the bytes are, work and memory are bounded.
"""
