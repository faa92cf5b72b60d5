"""What is sent to a client, and what is told of it afterwards."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from bestbefore.addon.rfc9111.message import Head


@dataclass(slots=True)
class Answer:
    """A response on its way to one client: its head, and its content whole or piece by piece."""

    head: Head
    body: bytes = b""
    chunks: AsyncGenerator[bytes] | None = None
    """If set, the content comes from here (`body` is empty), as it arrives from the origin or a file."""
    sent: Callable[[int, bool], None] | None = None
    """Called once at the end with the bytes of content sent, and whether all of them were."""

    def finish(self, sent_bytes: int, *, complete: bool) -> None:
        """Tell how sending ended."""
        if self.sent is not None:
            self.sent(sent_bytes, complete)
            self.sent = None
