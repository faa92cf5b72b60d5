"""The content of stored copies, read with little memory."""

import asyncio

from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.content import MEMORY_BYTES, Content
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.store.backend.interface import Body
from bestbefore.addon.store.store import Store

MAX_CONCURRENT = 2
"""How many large contents are read at the same time: a remote server sends each in one reply."""


class StoredContent:
    """Reads content from the store. Large content that the store does not return as a file is written to one."""

    def __init__(self, store: Store, budget: Budget) -> None:
        self._store = store
        self._budget = budget
        self._reading = asyncio.Semaphore(MAX_CONCURRENT)

    async def of(self, copy: Copy) -> Body | None:
        """Return the content of a copy; None if it is gone."""
        if copy.body.size <= MEMORY_BYTES:
            return await self._store.body(copy)
        async with self._reading:
            body = await self._store.body(copy)
            if not isinstance(body, bytes):
                return body
            content = Content(self._budget)
            return content.body() if await content.add(body) else body
