"""mitmproxy's checks of the types in its messages, which the proxy leaves out."""

from mitmproxy.http import MessageData


def leave_out() -> None:
    """Leave out the checks in this process, as mitmproxy itself does under `python -O`.

    Each check of an absent field raises an exception and catches it. The exception, and with it the frames of all
    callers and the content that they hold, stays until Python's collector finds it: five for a request with its
    response.
    """
    if hasattr(MessageData, "__post_init__"):
        MessageData.__post_init__ = _check_nothing  # type: ignore[method-assign]


def _check_nothing(_message: MessageData) -> None:
    pass
