"""Why a proxy does not start."""


class StartError(Exception):
    """The proxy cannot start; the message is for the user."""
