"""The error that keeps a proxy from starting."""


class StartError(Exception):
    """The proxy cannot start; the message is for the user."""
