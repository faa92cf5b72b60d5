"""The error of a trace that cannot be read."""


class TraceError(Exception):
    """An error in a trace; its text is one line with the file, the line, the value and what was expected."""
