"""The error of a trace that cannot be read."""


class TraceError(Exception):
    """An error in a trace: one line for the user that names file, line, value and what was expected."""
