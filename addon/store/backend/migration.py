"""Migrates a store of an earlier schema when it is opened."""

from bestbefore.addon.store.backend.connection import script
from bestbefore.addon.store.backend.keys import Keys, earlier_url_in
from bestbefore.addon.store.backend.repair import RepairingCommands

_rename = script(
    """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('RENAMENX', KEYS[1], KEYS[2]) == 0 then redis.call('DEL', KEYS[1]) end
return 1""",
    "hash",
    "hash",
)


async def rename_copies(commands: RepairingCommands, names: Keys, *, is_cluster: bool) -> int:
    """Rename the keys of copies of schema 1, which have the hash tag of the domain; return how many there were.

    In a cluster a key cannot be renamed into another slot, so the copies are removed. The migration may be interrupted,
    and run by several processes at once.
    """
    done = 0
    for kind in ("bodies", "copies"):  # a copy without content counts as missing
        async for part in commands.scan(names.every_earlier(kind)):
            urls = {key: earlier_url_in(key, kind) for key in part}
            known = [(key, url) for key, url in urls.items() if url is not None]
            await commands.ask_all([
                ("DEL", key) if is_cluster else _rename([key.decode(), *names.of_object(url, kind)], [])
                for key, url in known
            ])
            done += len(known)
    return done
