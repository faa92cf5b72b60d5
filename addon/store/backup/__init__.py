"""Backups of what was learnt: what they contain, and the file that they are written to."""
