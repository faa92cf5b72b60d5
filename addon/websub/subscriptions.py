"""The subscriptions of a proxy, which its store keeps."""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import replace

import msgspec

from bestbefore.addon.engine.signals.links import DeclaredHubs
from bestbefore.addon.engine.signals.subscription import PushState, PushSubscription
from bestbefore.addon.prefetcher.eligibility import MIN_REQUESTS
from bestbefore.addon.store.positions import Positions

MOST = 2000
"""How many objects with a hub are remembered, subscribed or not: those declared last."""
_PATH_BYTES = 24
_SECRET_BYTES = 32


class Subscriptions:
    """The subscriptions by URL and by path. Bounded: those that wait for nothing go first."""

    def __init__(self, positions: Positions, callback_url: str) -> None:
        self._positions = positions
        self._name = name_of(callback_url)
        self._by_url: dict[str, PushSubscription] = {}
        self._urls: dict[str, str] = {}
        """By path."""
        self._is_written = True

    def __iter__(self) -> Iterator[PushSubscription]:
        return iter(list(self._by_url.values()))

    def declared(self, url: str, found: DeclaredHubs) -> bool:
        """Note which hubs an object declares; whether a subscription begins, also in place of one elsewhere."""
        known = self._by_url.get(url)
        if known is not None and known.topic == found.topic and known.hub in found.hubs:
            if (known.hubs or (known.hub,)) != found.hubs:
                self.put(replace(known, hubs=found.hubs))
            return False
        if known is None and len(self._by_url) >= MOST:
            idle = next((one for one in self._by_url.values() if one.state is PushState.KNOWN), None)
            if idle is None:
                return False
            self._remove(idle)
        if known is not None:
            self._remove(known)
        path, secret = _drawn()
        self.put(PushSubscription(url, found.topic, found.hubs[0], path, secret, hubs=found.hubs))
        return True

    def pass_on(self, known: PushSubscription, now_s: float) -> None:
        """Replace a subscription by one to the next hub of its object."""
        self._remove(known)
        self.put(known.at_next(*_drawn(), now_s))

    def put(self, subscription: PushSubscription) -> None:
        """Replace a subscription."""
        self._by_url[subscription.url] = subscription
        self._urls[subscription.path] = subscription.url
        self._is_written = False

    def forget(self, url: str) -> None:
        """Remove a subscription."""
        known = self._by_url.get(url)
        if known is not None:
            self._remove(known)

    def at(self, path: str) -> PushSubscription | None:
        """Return the subscription with a path; None if there is none."""
        url = self._urls.get(path)
        return None if url is None else self._by_url[url]

    async def read(self) -> None:
        """Take over what the store has."""
        for one in await read_subscriptions(self._positions, self._name):
            if one.url not in self._by_url and len(self._by_url) < MOST:
                self.put(one)
        self._is_written = True

    async def write(self) -> None:
        """Write what has changed to the store."""
        if not self._is_written:
            self._is_written = True
            await self._positions.put(self._name, msgspec.json.encode(list(self._by_url.values())))

    def _remove(self, subscription: PushSubscription) -> None:
        del self._by_url[subscription.url]
        del self._urls[subscription.path]
        self._is_written = False


def _drawn() -> tuple[str, str]:
    """Draw a path and a secret."""
    return secrets.token_urlsafe(_PATH_BYTES), secrets.token_hex(_SECRET_BYTES)


def ranges_wanted(asked: Mapping[str, int], known: tuple[str, ...], *, stays: bool) -> tuple[str, ...] | None:
    """Return the private ranges from which an object is wanted, by its requests from each; None if it is not.

    One that stays without requests is wanted from where clients once did: `known`.
    """
    ranges = tuple(sorted(filter(None, asked)))
    if stays:
        return ranges if any(asked.values()) else known
    return ranges if sum(asked.values()) >= MIN_REQUESTS else None


def name_of(callback_url: str) -> str:
    """Return the name in the store: the hubs know the subscriptions by this URL."""
    return f"websub {callback_url}"


async def read_subscriptions(positions: Positions, name: str) -> list[PushSubscription]:
    """Return the subscriptions in the store; none if another version wrote them, or it is down."""
    try:
        return msgspec.json.decode(await positions.get(name) or b"[]", type=list[PushSubscription])
    except msgspec.DecodeError:
        return []
