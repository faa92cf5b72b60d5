"""Configuration: parses a TOML file and command-line options into settings and rules, or reports all errors at once.

`settings` are the records of [proxy]; `values` read one value each; `lines` finds the line of a key; `sections`
read one table each; `load` reads the whole; `watch` reads it again when the file changes.
"""
