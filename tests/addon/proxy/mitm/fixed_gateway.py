"""A gateway for tests of the layers: it admits everything and waits for nothing."""

from typing import Any

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.limits import DEFAULT_LIMITS
from bestbefore.addon.proxy.mitm.wire.kept import KeptRoom, SharedAnswers
from bestbefore.addon.proxy.mitm.wire.written import Written
from bestbefore.addon.proxy.tunnels.first_speaker import Expected
from bestbefore.addon.rfc9111.message import Fields, Head


class FixedGateway:
    """What gateways of tests have in common; `answer` is theirs."""

    limits = DEFAULT_LIMITS
    uses_hooks = False
    kept = KeptRoom()
    shared = SharedAnswers[Written]()

    def handles(self, *_: Any, **__: Any) -> bool:
        return True

    def refusal(self, *_: Any) -> Answer | None:
        return None

    def refuse(self, _request: Any, _client: Any, status: int, detail: str) -> Answer:
        return Answer(Head(status, Fields([("Detail", detail)])))

    def hit(self, *_: Any) -> Answer | None:
        """Nothing is in memory."""
        return None

    def sender(self, *_: Any) -> None:
        """Answers may depend on what the connection has sent."""

    def begin(self, *_: Any) -> None:
        """All requests pass through the layers."""

    def answer_at_socket(self, *_: Any) -> None:
        """Its clients have no sockets."""

    def ask_at_socket(self, *_: Any) -> bool:
        """Its clients have no sockets."""
        return False

    def decide(self, request: Any, _client: Any, _started_s: float | None = None) -> Any:
        """Nothing: it hands the request on."""
        return request

    def expected(self, _host: str, _port: int) -> Expected:
        return Expected(None)

    def is_behind(self, _: Any) -> bool:
        return False

    async def drained(self, _: Any) -> None:
        """It takes everything."""

    def set_reading(self, *_: Any, **__: Any) -> None:
        """Nothing waits."""

    def disconnect(self, _: Any) -> None:
        """Nothing is connected."""

    def share_bytes(self) -> int:
        return 1 << 20

    def now(self) -> float:
        return 0.0

    def monotonic(self) -> float:
        return 0.0
