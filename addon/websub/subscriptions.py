"""The subscriptions of all processes with one callback, which their store keeps."""

import asyncio
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import msgspec

from bestbefore.addon.engine.signals.links import DeclaredHubs
from bestbefore.addon.engine.signals.subscription import PushState, PushSubscription
from bestbefore.addon.prefetcher.eligibility import MIN_REQUESTS
from bestbefore.addon.store.positions import Positions

MOST = 2000
"""How many objects with a hub are remembered, subscribed or not: those declared last."""
TRIES = 20
"""How often a change is tried while others change the same value."""
_PATH_BYTES = 24
_SECRET_BYTES = 32


class Subscriptions:
    """The subscriptions by URL and by path, `MOST` of them: where there is no room, one that waits for nothing leaves.

    The store has them for all processes with this callback. A change is made by `update`, to what is in the store; what
    is read in between is at most as old as the last `read`.
    """

    def __init__(self, positions: Positions, callback_url: str) -> None:
        self._positions = positions
        self._name = name_of(callback_url)
        self._by_url: dict[str, PushSubscription] = {}
        self._urls: dict[str, str] = {}
        """By path."""
        self._kept = b""
        """As the store had them last."""
        self._is_changed = False
        self._updating = asyncio.Lock()

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

    def has_declared(self, url: str, found: DeclaredHubs) -> bool:
        """Whether `declared` would change nothing."""
        known = self._by_url.get(url)
        return known is not None and (known.hubs, known.topic) == found

    def pass_on(self, known: PushSubscription, now_s: float) -> PushSubscription:
        """Replace a subscription by one to the next hub of its object, and return that."""
        self._remove(known)
        following = known.at_next(*_drawn(), now_s)
        self.put(following)
        return following

    def note_push(self, path: str, at_s: float, *, is_signed: bool) -> None:
        """Count a push."""
        known = self.at(path)
        if known is not None:
            self.put(known.pushed(at_s, is_signed=is_signed))

    def put(self, subscription: PushSubscription) -> None:
        """Replace a subscription."""
        self._by_url[subscription.url] = subscription
        self._urls[subscription.path] = subscription.url
        self._is_changed = True

    def forget(self, url: str) -> None:
        """Remove a subscription."""
        known = self._by_url.get(url)
        if known is not None:
            self._remove(known)

    def of(self, url: str) -> PushSubscription | None:
        """Return the subscription of an object; None if there is none."""
        return self._by_url.get(url)

    def at(self, path: str) -> PushSubscription | None:
        """Return the subscription with a path; None if there is none."""
        url = self._urls.get(path)
        return None if url is None else self._by_url[url]

    async def read(self) -> None:
        """Read what others have changed."""
        found = await self._positions.newer(self._name, self._kept)
        if found is not None:
            self._take(found)

    async def update[T](self, change: Callable[["Subscriptions"], T]) -> T | None:
        """Change what is in the store, and return what `change` returns. None, and nothing changed, if it is down.

        `change` is called again when another process was faster, so that it must look at what it finds.
        """
        async with self._updating:
            for _ in range(TRIES):
                await self.read()
                self._is_changed = False
                result = change(self)
                if not self._is_changed:
                    return result
                value = msgspec.json.encode(list(self._by_url.values()))
                swapped = await self._positions.swap(self._name, self._kept, value)
                if swapped:
                    self._kept = value
                    return result
                self._take(self._kept)
                if swapped is None:
                    return None
        return None

    def _take(self, value: bytes) -> None:
        """Have what a value of the store says."""
        self._kept = value
        self._by_url = {one.url: one for one in decoded(value)}
        self._urls = {one.path: one.url for one in self._by_url.values()}

    def _remove(self, subscription: PushSubscription) -> None:
        del self._by_url[subscription.url]
        del self._urls[subscription.path]
        self._is_changed = True


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
    return decoded(await positions.get(name) or b"")


def decoded(value: bytes) -> list[PushSubscription]:
    """Return the subscriptions of a value in the store; none if another version wrote it."""
    try:
        return msgspec.json.decode(value or b"[]", type=list[PushSubscription])
    except msgspec.DecodeError:
        return []
