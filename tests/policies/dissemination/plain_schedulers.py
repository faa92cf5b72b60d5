"""The schedulers by their plain definitions: each choice looks at every client, item and page again."""

import math
from dataclasses import dataclass, field
from typing import Any

NEVER = math.inf


@dataclass
class Client:
    stays: bool
    copies: dict[int, list[int] | None]
    """The version of each page of each item that it asked for; None before its first copy."""
    since: dict[int, float] = field(default_factory=dict)


class Plain:
    """Versions of pages at the source, as last sent and at each client, and the rules by name."""

    def __init__(self, pages: list[int], per_page: bool = True, queue_in_pages: bool = False) -> None:
        self.source = [[0] * count for count in pages]
        self.last_sent = [[0] * count for count in pages]
        self.clients: dict[int, Client] = {}
        self.per_page, self.queue_in_pages = per_page, queue_in_pages
        self.pointer = -1
        self.changed_s = [0.0] * len(pages)
        self.stale_since = [NEVER] * len(pages)
        self.interval = [NEVER] * len(pages)
        self.changes = [0] * len(pages)

    def subscribe(self, number: int, items: list[int], now: float, held: list[int]) -> None:
        client = Client(True, {item: list(self.last_sent[item]) if item in held else None for item in items})
        client.since = {item: self.stale_since[item] if item in held else now for item in items}
        self.clients[number] = client

    def download(self, number: int, items: list[int], now: float) -> None:
        self.clients[number] = Client(False, dict.fromkeys(items), dict.fromkeys(items, now))

    def leave(self, number: int) -> None:
        del self.clients[number]

    def changed(self, item: int, now: float, page: int) -> None:
        self.source[item][page] += 1
        self.changes[item] += 1
        if now > self.changed_s[item]:
            this = now - self.changed_s[item]
            before = self.interval[item]
            self.interval[item] = this if before == NEVER else before * (2 / 3) + this * (1.0 - 2 / 3)
            self.changed_s[item] = now
        self.stale_since[item] = min(self.stale_since[item], now)
        for client in self.clients.values():
            if client.stays and client.copies.get(item) is not None:
                client.since[item] = min(client.since[item], now)

    def sent(self, item: int) -> list[int]:
        complete = []
        self.pointer = item
        self.last_sent[item] = list(self.source[item])
        self.stale_since[item] = NEVER
        for number, client in list(self.clients.items()):
            if item in client.copies:
                client.copies[item] = list(self.source[item])
                client.since[item] = NEVER
                if not client.stays and None not in client.copies.values():
                    complete.append(number)
                    del self.clients[number]
        return complete

    def lacks(self, client: Client, item: int) -> int:
        if item not in client.copies:
            return 0
        copy = client.copies[item]
        if copy is None:
            return len(self.source[item])
        if not client.stays:
            return 0
        return sum(ours != theirs for ours, theirs in zip(copy, self.source[item], strict=True))

    def requests(self, item: int) -> int:
        lacks = [self.lacks(client, item) for client in self.clients.values()]
        return sum(lacks) if self.per_page else sum(lack > 0 for lack in lacks)

    def waiting(self, item: int) -> list[Client]:
        return [client for client in self.clients.values() if self.lacks(client, item)]

    def since(self, item: int) -> float:
        return min(client.since[item] for client in self.waiting(item))

    def queue(self, client: Client) -> int:
        lacks = [self.lacks(client, item) for item in client.copies]
        return sum(lacks) if self.queue_in_pages else sum(lack > 0 for lack in lacks)

    def choose(self, name: str, now: float) -> int | None:
        needed = [item for item in range(len(self.source)) if self.requests(item)]
        if not needed:
            return None
        if name == "circ":
            return min(needed, key=lambda item: (item <= self.pointer, item))
        scores: dict[str, Any] = {
            "pop": self.requests,
            "rq": lambda item: self.requests(item) / min(self.queue(client) for client in self.waiting(item)),
            "rxw": lambda item: self.requests(item) * (now - self.since(item)),
            "rxc": lambda item: self.requests(item) * self.interval[item],
        }
        score = scores[name]
        if name == "rxc" and any(self.interval[item] == NEVER for item in needed):
            needed = [item for item in needed if self.interval[item] == NEVER]
            score = self.requests
        return min(needed, key=lambda item: (-score(item), self.since(item), item))

    def gain(self, item: int, over_data: bool) -> float:
        """What sending the item is worth to each client that waits for it, for its pages."""
        pages, total = len(self.source[item]), 0.0
        for client in self.waiting(item):
            lack = self.lacks(client, item)
            rest = sum(1 / left for left in range(pages - lack + 1, pages + 1))
            share = 1.0 if over_data else 1 / sum(len(self.source[other]) for other in client.copies)
            share *= 1.0 if client.stays else 0.05
            total += share * (lack - (pages - lack) * rest)
        return total * pages / (pages + self.changes[item]) / pages
