"""A Redis or Valkey cluster: which of its nodes has a key, and commands that are sent there.

redis-py's own client of clusters is not used: it sends ASKING and the command after it on different connections of a
pool, so that commands fail while slots are moved; it lets no WAIT follow writes on their connection; and it connects to
all nodes again whenever it reads the slots.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Self

import redis.exceptions as errors
from redis.crc import key_slot

from bestbefore.addon.store.backend.connections.node import Node
from bestbefore.addon.store.backend.interface import StoreInputError, UnavailableError

SLOTS = 16_384
REDIRECTIONS = 16
"""How often commands may be redirected, or sent again, while their slot is moved."""
MOVING_S = 0.02
"""The pause before a command is sent again whose keys are being moved."""

type Place = tuple[str, int]
"""The host and port of a node."""


class Cluster:
    """The primaries of a cluster. Replicas are not used: they may lack what was just written."""

    def __init__(self, options: Mapping[str, Any], patience_s: float) -> None:
        """`options`: of redis-py for connections; host, port and database are left out."""
        self._options = {name: value for name, value in options.items() if name not in ("host", "port", "db")}
        self._patience_s = patience_s
        self._nodes: dict[Place, Node] = {}
        self._of_slot: list[Place] = []
        self.known: list[Place] = []
        """All nodes, replicas too, by which the cluster can be found again."""

    @classmethod
    async def find(cls, seeds: Sequence[Place], options: Mapping[str, Any], patience_s: float) -> Self:
        """Connect to the cluster of the first of some nodes that answers; all its primaries must answer.

        Raises the errors of redis-py, StoreInputError for a server that is in no cluster, UnavailableError if the
        cluster has no node for some slots.
        """
        made = cls(options, patience_s)
        try:
            await made._read_slots_of_first(list(dict.fromkeys(seeds)))
            # One that does not answer would delay each request by as long as is waited for it.
            await asyncio.gather(*(node.client.ping() for node in made._primaries()))
        except BaseException:
            await made.close()
            raise
        return made

    async def _read_slots_of_first(self, seeds: Sequence[Place]) -> None:
        for seed in seeds:
            try:
                return await self._read_slots(seed)
            except (errors.AuthenticationError, errors.AuthorizationError, StoreInputError):
                raise
            except (errors.RedisError, UnavailableError, OSError):
                if seed == seeds[-1]:
                    raise
        return None

    async def _read_slots(self, seed: Place) -> None:
        try:
            ranges = await self._node(seed).client.execute_command("CLUSTER", "SLOTS")
        except errors.ResponseError as error:
            if "cluster support disabled" in str(error):
                raise StoreInputError(f"{seed[0]}:{seed[1]} is in no cluster: use redis://") from None
            raise
        of_slot: list[Place | None] = [None] * SLOTS
        known = []
        for first, last, *nodes in ranges:
            places = [(_text(node[0]) or seed[0], int(node[1])) for node in nodes]
            of_slot[first : last + 1] = [places[0]] * (last + 1 - first)
            known += places
        served = [place for place in of_slot if place is not None]
        if len(served) < SLOTS:
            raise UnavailableError(f"{SLOTS - len(served)} of its {SLOTS} slots have no node")
        self._of_slot, self.known = served, list(dict.fromkeys(known))

    def _node(self, place: Place) -> Node:
        node = self._nodes.get(place)
        if node is None:
            host, port = place
            node = self._nodes[place] = Node({**self._options, "host": host, "port": port}, self._patience_s)
        return node

    def _primaries(self) -> list[Node]:
        return [self._node(place) for place in dict.fromkeys(self._of_slot)]

    async def answers(self, commands: Sequence[Sequence[Any]], replicas: int = 0) -> list[Any]:
        """Send each command to the node that has its key; return the replies, as `Node.answers` does.

        Commands follow slots that are being moved. What has no key goes to any node.
        """
        replies: list[Any] = [None] * len(commands)
        at = {i: (self._place(command), False) for i, command in enumerate(commands)}
        for _ in range(REDIRECTIONS):
            by_place: dict[Place, list[int]] = {}
            for i, (place, _) in at.items():
                by_place.setdefault(place, []).append(i)
            parts = [
                self._send(place, [(i, commands[i], at[i][1]) for i in numbers], replies, replicas)
                for place, numbers in by_place.items()
            ]
            if len(parts) == 1:
                await parts[0]
            else:
                # All are finished before an error is raised: what is cancelled loses its connection.
                for failure in await asyncio.gather(*parts, return_exceptions=True):
                    if failure is not None:
                        raise failure
            at = {i: again for i, (place, _) in at.items() if (again := self._redirected(replies[i], place))}
            if not at:
                break
            if any(isinstance(replies[i], errors.TryAgainError) for i in at):
                await asyncio.sleep(MOVING_S)
        return replies

    async def _send(
        self, place: Place, numbered: Sequence[tuple[int, Sequence[Any], bool]], replies: list[Any], replicas: int
    ) -> None:
        sent: list[Sequence[Any]] = []
        for _, command, is_asking in numbered:
            sent += [("ASKING",), command] if is_asking else [command]
        found = iter(await self._node(place).answers(sent, replicas))
        for i, _, is_asking in numbered:
            if is_asking:
                next(found)
            replies[i] = next(found)

    def _redirected(self, reply: Any, place: Place) -> tuple[Place, bool] | None:
        """Return where a command must be sent again, and whether after ASKING; None if that is not so."""
        if isinstance(reply, errors.AskError):  # also MovedError
            found = (reply.host or place[0], reply.port)
            if isinstance(reply, errors.MovedError):
                self._of_slot[reply.slot_id] = found
                return found, False
            return found, True
        return (place, False) if isinstance(reply, errors.TryAgainError) else None

    def _place(self, command: Sequence[Any]) -> Place:
        key = key_of(command)
        return self._of_slot[0 if key is None else key_slot(key)]

    async def scan(self, pattern: str) -> AsyncIterator[bytes]:
        """Yield the matching keys of all nodes."""
        for node in self._primaries():
            async for key in node.scan(pattern):
                yield key

    async def nodes(self) -> Sequence[Node]:
        """Return the primaries."""
        return self._primaries()

    def beside(self, key: str) -> Node:
        """Return the primary that has a key."""
        return self._node(self._of_slot[key_slot(key.encode())])

    async def close(self) -> None:
        """Close all connections."""
        for node in self._nodes.values():
            await node.close()


def key_of(command: Sequence[Any]) -> bytes | None:
    """Return the first key in a command of the store; None if it has none."""
    name, n = command[0], 1
    if name == "EVAL":
        n = 3
    elif name in ("MEMORY", "OBJECT", "XINFO"):
        n = 2
    elif name == "XREAD":
        n = list(command).index("STREAMS") + 1
    elif name in ("PING", "INFO", "TIME", "CONFIG", "PUBLISH"):
        return None
    if n >= len(command):
        return None
    key = command[n]
    return key if isinstance(key, bytes) else str(key).encode()


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else value or ""
