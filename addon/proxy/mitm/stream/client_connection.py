"""The interface of a client's connection, as the streams on it use it."""

from typing import Protocol


class ClientConnection(Protocol):
    """The connection that a request came on."""

    async def window(self, stream_id: int) -> bool:
        """Whether the client can receive more of a response; if not, wait for an event on its connection first."""

    def has_room(self, stream_id: int) -> bool:
        """Whether the client can receive more of a response."""

    def has_pipelined(self) -> bool:
        """Whether a request that the client has sent behind others waits to be read."""

    async def activity(self) -> None:
        """Wait for the next event on the client's connection."""

    def resume_upload(self) -> None:
        """Resume reading from the client if enough of its upload has been sent on."""

    def disconnect_later(self) -> object:
        """Close the connection after a time limit."""
