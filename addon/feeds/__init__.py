"""Feeds, sans-IO: parses RSS, Atom, RDF and JSON Feed into items and hints, and removes items from documents.

Imports no other part of the project; uses lxml and brotli. Work and memory are bounded for any input.
"""
