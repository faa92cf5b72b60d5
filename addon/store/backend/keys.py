"""The keys in Redis. In a cluster those with one hash tag, which is what stands in braces, share a slot.

The tag is never the configured group: a changed rule must not move anything. U is a URL, H a host.

Most of the data is content, and one domain may have more of it than a node can hold. So the keys of an object's
copies have a hash tag of their own. A script changes them together:

- `bb1:copies:{U}`, hash: variant -> `digest|stored_s|copy`. The copy includes, as `applied`, the number of the last
  tombstone that its writer had applied. `bb1:bodies:{U}`, hash: digest -> content. Both live as long as the
  longest-lived variant needs (its lifetime and `keep`), and may be evicted at any time. A body is removed with the
  last variant that refers to it.
- `bb1:tombstone:{U}`, string: number and time of the last tombstone of U, so that a late write cannot bring back an
  invalidated copy. Lives `TOMBSTONES_KEPT_S`.
- `bb1:contact:{U}:D`, string: the process that contacts the origin, a lease. D is a digest of what must be the same in
  requests that share a contact (`store.contacts`).
- `bb1:demand:{U}`, hash: variant -> the demand for it (`policies.models.demand`) and the stale hits predicted since its
  last contact, the sum of what the processes have counted. Lives `DEMAND_KEPT_S` after its last change.

What differs only in parameters that do not matter (No-Vary-Search) is found by two strings. U is without query here:

- `bb1:variance:{U}`: the last No-Vary-Search that was stored with a copy.
- `bb1:equivalent:{U?D}`: the URL of the last such copy, where D is a digest of what of its query selects the response.
  Both live as long as the copy, at most `indexes.SEARCHES_KEPT_S`.

- `bb1:dictionaries:{O}`, hash: the URL of a copy that may be a compression dictionary for others of its origin O ->
  when it was received, and the pattern of these (RFC 9842). The latest; lives as long as the longest-lived of them.

- `bb1:stale:{G}`, hash: `PERIOD N` -> the N-th sum of a period since the epoch (`machinery.control`), by which the
  price of the group G is controlled; its name ends with the target. Lives as long as the periods count.

Names of groups of copies (RFC 9875), such as `"styles"@https://H`, have keys of the same form:

- `bb1:grouped:{G}`, set: the URLs of copies in the group, whose copies a tombstone of the group removes. Lives as long
  as the longest-lived of them; a copy that is missing there is not used. `bb1:tombstone:{G}` as above.

A script changes a record together with the counts of its host, so they share a slot. To spread them over nodes, the
objects of a registrable domain D are divided into `PARTS` by a hash of the URL. Their keys begin with
`bb1:{D#05}:`, where `#05` is the part; the counts of a host are the sums over all parts:

- `record:U`, hash: `v` version, `b` the record, `t` its last contact. Written by scripts/commit.lua alone. Expires
  after seven days, or after the second contact never; the sweep removes it when untouched for `forget_after`.
- `hosts`, set: labels with counts. `updates:L` and `starts:L`, hashes: hour since the epoch -> the number of
  updates, and of t_0, that the members with the label L in this part have in that hour. They change with the records,
  in the same script; a count that falls to 0 is removed. Never expire. A label is a host or, for objects that are
  counted by cache group, the name of their group of copies (`label_of`). `rates:L`, hash: `members` and `micronats`,
  the sum of the rates of these members (`member_rates`), in the same way.

The candidates for prefetching are divided into `keeper.SHARDS` by a hash of the URL. Those of shard N have one key,
`bb1:candidates:{N}`, a hash: URL -> what its schedule needs (`store.candidate`). Expires thirty days after the last
write.

`bb1:outlook:{P}`, string: what the schedule of process P expects, a minute to live.

The other keys of a domain are small and bounded, or expire within days, and a command reads or trims them for the
whole domain. They begin with `bb1:{D}:`:

- `requests`, sorted set: URLs by how often they were requested, the `REQUESTS_KEPT` highest. It lives
  `forget_after` from its last write.
- `wanted:DAY`, sorted set: `RANGE URL` by how often clients in that range of addresses asked for it on a day since
  the epoch without Cookie and credentials; only where prefetching is enabled. Nine days to live.
- `siblings`, hash: which objects of the domain change together (`store.sites`): `version`, and the counts of
  `policies.validation.siblings.trials` of the whole site as `site`, of a directory as `d:DIRECTORY`, of an object as
  `o:U`. `changes`, list: the latest changes. Both live `sites.redis.SITES_KEPT_S` from the last write.
- `fetch:U`, string: the process that is prefetching U, a lease; or `made` and the process that has just done so.
  `pace`, string: exists while no fetch of the domain may begin. A script reads both.
"""

import hashlib
import re
from functools import lru_cache
from typing import NamedTuple, Self

import msgspec

from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.rfc9111.copy import Copy, Selecting
from bestbefore.addon.rfc9111.fields.cache_groups import is_group
from bestbefore.addon.rfc9111.message import host_and_path

SCHEMA = 3
"""The version of this layout. A store with a newer one is refused, one with an earlier one brought to this
(`migration`): in version 1 copies were tagged by domain, in versions 1 and 2 records and counts."""

PARTS = tuple(f"#{n:02}" for n in range(0, 80, 5))
"""The parts of a domain, as suffixes of the domain in hash tags. A slot is the CRC16 of a tag, which is linear: with
these suffixes the parts of any domain lie in sixteen different sixteenths of the slots, so evenly on 2, 4, 8 or 16
nodes."""

STORE = "bb:store"
"""A hash without a version in its name, read first: `schema` and `clock` (the mark of the kind of clock). Never
expires."""

DOMAINS = "bb1:domains"
"""A set: the registrable domains with stored data, added at the first write. Never expires."""

TOMBSTONES = "bb1:tombstones"
"""A sorted set: tombstones by time, which a proxy reads when it connects. They are removed after `TOMBSTONES_KEPT_S`;
beyond `TOMBSTONES_AT_MOST`, the earliest are removed."""

LAST_TOMBSTONE = f"bb1:last:{{{TOMBSTONES}}}"
"""A string: the number of the last tombstone. Numbers ascend in the order of the writes; the next is the server's time
in microseconds, or one more than the last. Never expires. Its hash tag puts it into the slot of the tombstones."""

SWEEP = "bb1:sweep"
"""A hash: `looked_s`, the policy time of the last check of the clock, `steady_s`, since when it has not jumped;
`begun_ms`, when a proxy began to sweep for all, by the server's clock; `size_bytes`, what it found. Never expires."""

POSITIONS = "bb1:positions"
"""A hash: digest of a channel -> how far an edge has read it. Never expires."""

CHANNEL = "bb1:invalidations"
"""The channel on which tombstones are published."""

SITES_CHANNEL = "bb1:sites"
"""The channel on which is published what processes learn of sites (`store.sites`)."""

CONTACTS_CHANNEL = "bb1:contacts"
"""The channel on which is published that a process waits for another's contact, and that such a contact has ended."""

REPLACED_CHANNEL = "bb1:replaced"
"""The channel on which is published which objects have copies with another content than before."""

SHARDS = "bb1:shards"
"""A hash: shard -> the process that holds it, and `until HOLDER` -> when its lease ends, ms by the server's clock.
Never expires."""

ANNOUNCED = "bb1:announced"
"""A sorted set: objects that are asked for more, by time, for the process that holds their shard. Ten minutes to
live."""

SPENT = "bb1:spent"
"""A hash: period of the budget since the epoch -> number of fetches."""

RECEIVED = "bb1:received"
"""A hash: period of the budget since the epoch -> number of bytes that fetches received."""

TROUBLES = "bb1:troubles"
"""A hash: URL of a watched object -> why it could not be fetched (`store.trouble`). Thirty days to live."""


@lru_cache(maxsize=1024)  # for the steps of a request: more would keep URLs in memory, to save half a microsecond
def host_of(url: str) -> str:
    """Return the host of an object's URL; `-` for a name that is not an http URL."""
    try:
        return host_and_path(url)[0]
    except ValueError:
        return "-"


class CopyKey(NamedTuple):
    """The key of a copy: its URL, and the values that a request must match."""

    url: str
    partition: str = ""
    personal: str = ""
    selecting: Selecting = ()
    client: str = ""
    part_number: int = 0

    @classmethod
    def of(cls, copy: Copy) -> Self:
        """Return the key of a copy."""
        return cls(copy.url, copy.partition, copy.personal, copy.selecting, copy.client, copy.part_number)


def variant_of(copy: Copy | CopyKey) -> str:
    """Return the key of a copy among those of its URL."""
    bound = (copy.client,) if copy.client else ()
    part = (copy.part_number,) if copy.part_number else ()
    selected = msgspec.msgpack.encode((copy.partition, copy.personal, copy.selecting, *bound, *part))
    return hashlib.blake2b(selected, digest_size=16).hexdigest()


def label_of(record: Record) -> str:
    """Return the label under which an object is counted: its cache group or, without one, its host."""
    return record.cache_group or host_of(record.url)


def host_in(label: str) -> str:
    """Return the host of the objects that are counted under a label."""
    return host_of(f"{label.rpartition('@')[2]}/") if is_group(label) else label


def domain_of(host: str) -> str:
    """Return the registrable domain of a host; `-` for none."""
    return registrable_domain(host) or "-"


def of_domain(domain: str, kind: str) -> str:
    tag = domain.replace("{", "_").replace("}", "_")  # braces would end the hash tag early
    return f"bb1:{{{tag}}}:{kind}"


def of_url(url: str, kind: str) -> str:
    """Return the key of this kind of an object, in the slot of its domain."""
    return f"{of_domain(domain_of(host_of(url)), kind)}:{url}"


def of_parts(domain: str, kind: str) -> list[str]:
    """Return the key of this kind in each part of a domain."""
    return [of_domain(domain + part, kind) for part in PARTS]


def of_record(url: str, *labels: str) -> list[str]:
    """Return the keys that a commit changes, in the part of the object: `record`, `hosts`, and counts by label."""
    host = host_of(url)
    part = PARTS[hashlib.blake2b(url.encode(errors="surrogatepass"), digest_size=1).digest()[0] % len(PARTS)]
    begin = of_domain(domain_of(host) + part, "")
    counts = (f"{begin}{kind}:{label}" for label in labels for kind in COUNT_KINDS)
    return [f"{begin}record:{url}", f"{begin}hosts", *counts]


def of_object(url: str, *kinds: str) -> list[str]:
    """Return the keys of an object, one for each kind, all with its own hash tag, whatever braces the URL has."""
    return [f"bb1:{kind}:{{{url}}}" for kind in kinds]


def of_contact(url: str, digest: str) -> str:
    """Return the key of the lease of a contact, in the slot of the object's copies."""
    return f"bb1:contact:{{{url}}}:{digest}"


def of_shard(shard: int) -> str:
    """Return the key of the candidates of a shard."""
    return f"bb1:candidates:{{{shard}}}"


def of_holder(holder: str) -> str:
    """Return the key of the outlook of a process."""
    return f"bb1:outlook:{{{holder}}}"


def every(kind: str) -> str:
    """Return the pattern for SCAN that matches all keys of a kind that have a URL or a host."""
    return f"bb1:{kind}:{{*" if kind in OBJECT_KINDS else f"bb1:{{*}}:{kind}:*"


def name_in(key: bytes, kind: str) -> str | None:
    """Return the URL or host in a key of this kind; None for another key, which a pattern may match too."""
    found = _match(_OF_OBJECT if kind in OBJECT_KINDS else _OF_DOMAIN, key)
    if found is None or found["kind"] != kind or (kind in PART_KINDS and found["part"] is None):
        return None
    return found["name"]


def name_of_domain(key: bytes) -> str | None:
    """Return the registrable domain in a key; None for a key without one, or not of this store."""
    found = _match(_OF_DOMAIN, key)
    return None if found is None or found["kind"] not in _TYPES else found["domain"]


def kind_of(key: bytes) -> str | None:
    """Return the kind of a key, such as `record`, or its name without prefix if it is a single one; None for others."""
    if _match(_OF_SHARD, key) is not None:
        return "candidates"
    found = _match(_OF_OBJECT, key) or _match(_OF_DOMAIN, key)
    return found["kind"] if found is not None else key.decode(errors="replace").removeprefix("bb1:")


def earlier(key: bytes) -> tuple[str, str] | None:
    """Return the kind and the URL or host in a key of an earlier schema; None for another key."""
    found = _match(_OF_DOMAIN, key)
    if found is None or found["kind"] not in (*OBJECT_KINDS, *PART_KINDS) or found["part"] is not None:
        return None
    return found["kind"], found["name"] or ""


def _match(form: re.Pattern[str], key: bytes) -> re.Match[str] | None:
    try:
        return form.fullmatch(key.decode())
    except UnicodeDecodeError:
        return None


def type_of(key: str) -> str | None:
    """Return the type, as Redis' TYPE names it, of a key by its name; None for a key that is not of this store."""
    if _OF_SHARD.fullmatch(key):
        return "hash"
    if _OF_HOLDER.fullmatch(key) or _OF_CONTACT.fullmatch(key):
        return "string"
    found = _OF_OBJECT.fullmatch(key) or _OF_DOMAIN.fullmatch(key)
    return _TYPES.get(key if found is None else found["kind"])


_OF_DOMAIN = re.compile(r"bb1:\{(?P<domain>[^}]*?)(?P<part>#\d\d)?\}:(?P<kind>[a-z_]+)(?::(?P<name>.*))?", re.DOTALL)
COUNT_KINDS = ("updates", "starts", "rates")
PART_KINDS = ("record", "hosts", *COUNT_KINDS)
OBJECT_KINDS = frozenset(
    ("copies", "bodies", "demand", "stale", "tombstone", "grouped", "variance", "equivalent", "dictionaries")
)
_OF_SHARD, _OF_HOLDER = re.compile(r"bb1:candidates:\{\d+\}"), re.compile(r"bb1:outlook:\{[0-9a-z]+\}")
_OF_CONTACT = re.compile(r"bb1:contact:\{.*\}:[0-9a-f]+", re.DOTALL)
_OF_OBJECT = re.compile(rf"bb1:(?P<kind>{'|'.join(sorted(OBJECT_KINDS))}):\{{(?P<name>.*)\}}", re.DOTALL)
_TYPES = {
    STORE: "hash",
    DOMAINS: "set",
    TOMBSTONES: "zset",
    LAST_TOMBSTONE: "string",
    SWEEP: "hash",
    POSITIONS: "hash",
    SHARDS: "hash",
    ANNOUNCED: "zset",
    SPENT: "hash",
    RECEIVED: "hash",
    TROUBLES: "hash",
    "record": "hash",
    "hosts": "set",
    "updates": "hash",
    "starts": "hash",
    "rates": "hash",
    "copies": "hash",
    "bodies": "hash",
    "demand": "hash",
    "stale": "hash",
    "tombstone": "string",
    "grouped": "set",
    "variance": "string",
    "equivalent": "string",
    "dictionaries": "hash",
    "requests": "zset",
    "siblings": "hash",
    "changes": "list",
    "wanted": "zset",
    "fetch": "string",
    "pace": "string",
}
"""The types of single keys by name, and of the others by kind."""
