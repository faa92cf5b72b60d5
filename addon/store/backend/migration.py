"""Migrates a store of an earlier schema when it is opened."""

from collections.abc import Callable, Sequence
from typing import Any

from bestbefore.addon.store.backend.connection import script
from bestbefore.addon.store.backend.interface import Commit, Versioned
from bestbefore.addon.store.backend.keys import OBJECT_KINDS, earlier, label_of, of_object
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.cache.gains import share_of

_rename = script(
    """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('RENAMENX', KEYS[1], KEYS[2]) == 0 then redis.call('DEL', KEYS[1]) end
return 1""",
    "hash",
    "hash",
)

type Command = list[Any]


async def migrate(
    commands: RepairingCommands,
    versioned: Callable[[bytes, bytes], Versioned],
    commit: Callable[[Commit, bytes, int], Command],
    *,
    is_cluster: bool,
) -> tuple[int, int]:
    """Migrate the keys tagged by a whole domain; return how many keys of records and of copies were found.

    A record is written by `commit` under its new key, with its version and lifetime, together with its share of the
    counts; the earlier counts are removed. So each part of a domain counts its own records, in a cluster too. Copies
    are renamed; in a cluster a key cannot be renamed into another slot, so there they are removed.

    The migration may be interrupted, and run by several processes at once: a record under its new key is not replaced.
    """
    n_records = n_copies = 0
    async for part in commands.scan("bb1:{*}:*"):
        found = [(key, *named) for key in part if (named := earlier(key)) is not None]
        records = [(key, url) for key, kind, url in found if kind == "record"]
        await _move_records(commands, records, versioned, commit)
        copies = [(key, kind, url) for key, kind, url in found if kind in OBJECT_KINDS]
        await commands.ask_all([
            ("DEL", key) if is_cluster else _rename([key.decode(), *of_object(url, kind)], [])
            for key, kind, url in copies
        ])
        await commands.ask_all([("DEL", key) for key, kind, _ in found if kind not in OBJECT_KINDS])
        n_records, n_copies = n_records + len(records), n_copies + len(copies)
    return n_records, n_copies


async def _move_records(
    commands: RepairingCommands,
    records: Sequence[tuple[bytes, str]],
    versioned: Callable[[bytes, bytes], Versioned],
    commit: Callable[[Commit, bytes, int], Command],
) -> None:
    values = await commands.ask_all([("HMGET", key, "v", "b") for key, _ in records])
    lives_ms = await commands.ask_all([("PTTL", key) for key, _ in records])
    moved = []
    for (_, url), (version, encoded), live_ms in zip(records, values, lives_ms, strict=True):
        record = versioned(version or b"", encoded or b"").record
        # An undecodable record counts as missing. PTTL is -1 for a key that never expires, -2 for an expired one.
        if version and record is not None and live_ms not in (0, -2):
            share = {label_of(record): share_of(record)}
            moved.append(commit(Commit(url, b"", record, share), version, max(live_ms, 0)))
    await commands.ask_all(moved)
