"""Configuration: a TOML file and the options of the command line in, settings and rules out, or all errors at once.

`settings` are the records of [proxy]; `values` read one value each; `lines` finds the line of a key; `sections`
read one table each; `load` reads the whole; `watch` reads it again when the file changes.
"""
