"""Parsers and writers of fields, and the fields that apply to one connection only."""
