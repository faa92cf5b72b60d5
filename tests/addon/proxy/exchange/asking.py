"""What the tests of exchanges ask."""

from typing import Any

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.rfc9111.message import Request


async def answer_to(request: Request, client: Any, exchanges: Exchanges) -> Answer:
    """The answer to a request, as a client gets it."""
    decided = exchanges.decide(request, client)
    return decided if isinstance(decided, Answer) else await exchanges.answer(decided)
