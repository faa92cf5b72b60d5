"""The error that prevents the start of the proxy."""


class StartError(Exception):
    """The proxy cannot start; the message is for the user."""
