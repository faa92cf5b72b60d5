"""The connection to the server of a channel, which is made again whenever it is lost."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from bestbefore.addon.errors import InputError
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.connections.addresses import EMBEDDED
from bestbefore.addon.store.backend.interface import CommandError, StoreInputError, UnavailableError, UnwritableError

logger = logging.getLogger(__name__)

PATIENCE_S = 20.0
"""How long the server may take to answer: a link may be slow, and edges wait for messages."""
RETRY_S = 1.0
"""The pause before the connection is made again. Both in real seconds."""


class ChannelLink:
    """The connection, and work on it that is begun again after an error."""

    def __init__(self, url: str, name: str) -> None:
        """Raises InputError for what is no URL of a Redis server."""
        try:
            self.connection = Connection(url, name=name, patience_s=PATIENCE_S)
        except StoreInputError as error:
            raise input_error(error) from None
        self._task: asyncio.Task[None] | None = None
        self._is_down = False

    async def start(self, work: Callable[[], Awaitable[None]]) -> None:
        """Begin the work, which raises the errors of the store. Raises InputError for a server that refuses us."""
        try:
            await self.connection.open()
        except StoreInputError as error:
            raise input_error(error) from None
        except UnavailableError as error:
            self._mark_down(str(error))
        self._task = asyncio.create_task(self._run(work))

    async def close(self) -> None:
        """Cancel the work, and close the connection."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.connection.close()

    async def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                if self._is_down:
                    await self.connection.open()
                    self._is_down = False
                    logger.info("the channel %s is up again", self.connection.shown)
                await work()
            except (UnavailableError, UnwritableError, CommandError, StoreInputError) as error:
                self._mark_down(str(error))
            except Exception:
                self._is_down = True
                logger.exception("the channel failed and is tried again: this is a bug in bestbefore")
            await asyncio.sleep(RETRY_S)

    def _mark_down(self, why: str) -> None:
        if not self._is_down:
            logger.warning("the channel %s is down (%s)", self.connection.shown, why)
        self._is_down = True


def input_error(error: StoreInputError) -> InputError:
    """Return the error of a connection in the words of a channel, which no embedded server can have."""
    return InputError(str(error).replace("store ", "channel ", 1).replace(EMBEDDED, "", 1))
