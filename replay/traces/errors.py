"""The error of a trace that cannot be read."""


class TraceError(Exception):
    """One line for the user that names file, line, value and what was expected."""
