"""Packs a copy with its history for the channel, and unpacks it."""

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

from bestbefore.addon.engine.channel.publication import Unpublished, why_not_published
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.piggyback import AT_MOST, written
from bestbefore.addon.hub.wire.message import MalformedMessageError, Object
from bestbefore.addon.prefetcher.eligibility import Refusal, refused_url
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.rules import Pattern
from bestbefore.addon.store.backend.codec import UnreadableError, decode_copy, encode_copy
from bestbefore.addon.store.backend.unlinked import UnlinkedFile
from bestbefore.addon.store.store import Store

_SECRETS = (Refusal.USERINFO, Refusal.SECRET, Refusal.TOKEN, Refusal.TOO_LONG)


def why_not_sent(copy: Copy, publish: tuple[Pattern, ...], most_bytes: int) -> Unpublished | None:
    """Return why a copy may not be sent; None if it may. `publish`: the patterns of what the hub may send."""
    target = Target.parse(copy.url)
    found = [one for one in publish if one.host.matches(target.host) and one.matches_path(target.path)]
    if not found:
        return Unpublished.NOT_CHOSEN
    named = any(one.host.text != "*" for one in found)
    is_secret = refused_url(copy.url) in _SECRETS
    return why_not_published(copy, named=named, most_bytes=most_bytes, is_secret=is_secret)


async def packed(copy: Copy, record: Record | None, store: Store, *, with_body: bool) -> Object | None:
    """Pack a copy and what is known of its updates; None if its content is gone."""
    body = await content(copy, store) if with_body else None
    if with_body and body is None:
        return None
    times, since_s, history = ((), None, "") if record is None else _history(record)
    # The verdict is that of the hub's rule; the edge has rules of its own.
    plain = replace(copy, covered=None).with_verdict(None, "", "")
    return Object(encode_copy(plain), body, times, since_s, history)


def _history(record: Record) -> tuple[tuple[float, ...], float, str]:
    """Return the updates since all of them are known exactly, from when on that is so, and what is known before."""
    updates = record.updates
    unsure_s = [update.by_s for update in updates if not update.exact]
    if record.unseen is None:
        unsure_s += [updates[-1].by_s] if updates else []
    else:
        unsure_s += [missed.by_s for missed in record.unseen]
    since_s = max([record.since_s, *unsure_s])
    listed = [update.by_s for update in updates if update.exact and update.by_s >= since_s]
    if len(listed) > AT_MOST:
        since_s = listed[-AT_MOST]
    is_all = since_s == record.since_s or len(listed) >= AT_MOST
    history = "" if is_all else written(updates, record.since_s, record.unseen)
    return tuple(listed[-AT_MOST:]), since_s, history


def unpacked(carried: Object) -> Copy:
    """Return the copy in an object whose content fits. Raises MalformedMessageError."""
    try:
        copy = decode_copy(carried.copy).copy
        Target.parse(copy.url)
    except (UnreadableError, ValueError) as error:
        raise MalformedMessageError(str(error)) from None
    if carried.body is not None and hashlib.blake2b(carried.body, digest_size=20).hexdigest() != copy.body.digest:
        raise MalformedMessageError("the content is not that of the copy")
    return copy


async def content(copy: Copy, store: Store) -> bytes | None:
    """Return the content of a copy in memory; None if it is gone."""
    body = await store.body(copy)
    try:
        if isinstance(body, Path):
            return await asyncio.to_thread(body.read_bytes)
        return await asyncio.to_thread(body.read_all) if isinstance(body, UnlinkedFile) else body
    except OSError:
        return None
