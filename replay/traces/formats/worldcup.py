"""The reader of the binary logs of the 1998 World Cup web site (Arlitt and Jin; the Internet Traffic Archive).

A record has 20 bytes, big-endian: time (Unix seconds), client, object, size (all bits set: none), each 4 bytes; method,
status, type, server, each 1 byte. The method is an enumeration that begins with GET; the two upper bits of the status
are the HTTP version, the others an index into the status codes of the time. Clients and objects are numbers.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestbefore.replay.traces.columns.columns import IdArray
from bestbefore.replay.traces.inference.accesses import UNKNOWN, Accesses
from bestbefore.replay.traces.opening import OpenTrace, blocks
from bestbefore.replay.traces.skipped import Skipped

RECORD = np.dtype([
    ("time", ">u4"), ("client", ">u4"), ("object", ">u4"), ("size", ">u4"),
    ("method", "u1"), ("status", "u1"), ("type", "u1"), ("server", "u1"),
])
NO_SIZE = 0xFFFFFFFF
GET = 0
METHODS = 9
CODES = np.array([
    100, 101, *range(200, 207), *range(300, 306), *range(400, 416), *range(500, 506), UNKNOWN,
], dtype=np.int16)
"""The status codes by index; the last index is any other code."""
TYPES = 13
FIRST_S, LAST_S = 893_400_000, 901_600_000
"""The range of times by which the format is recognised: the logs are from 24 April to 27 July 1998 at most."""


def read_worldcup(source: OpenTrace, skipped: Skipped) -> Accesses:
    """Read the GET requests of a log. Other requests are left out and counted."""
    parts = [_columns(np.empty(0, dtype=RECORD))]
    number = 0
    rest = b""
    for block in blocks(source, skipped):
        data = rest + block
        records = np.frombuffer(data, dtype=RECORD, count=len(data) // RECORD.itemsize)
        rest = data[records.nbytes:]
        parts.append(_columns(_gets(records, number, skipped)))
        number += len(records)
    if rest:
        skipped.add(f"record {number + 1}", f"{len(rest)} bytes: expected {RECORD.itemsize}")
    times_s, clients, objects, sizes_bytes, statuses = map(np.concatenate, zip(*parts, strict=True))
    return Accesses.of(times_s, _numbered(clients), _numbered(objects), statuses=statuses, sizes_bytes=sizes_bytes)


def looks_like_worldcup(head: bytes) -> bool:
    """Whether all times, read as records, lie in the range of the logs and ascend."""
    records = np.frombuffer(head, dtype=RECORD, count=len(head) // RECORD.itemsize)
    times = records["time"]
    return bool(
        len(records) and (times >= FIRST_S).all() and (times <= LAST_S).all() and (times[1:] >= times[:-1]).all()
    )


def _columns(records: NDArray[np.void]) -> tuple[NDArray[Any], ...]:
    """Return times, clients, objects, sizes and statuses in the types of `Accesses`."""
    sizes = records["size"].astype(np.int64)
    sizes[sizes == NO_SIZE] = UNKNOWN
    return (
        records["time"].astype(np.float64),
        records["client"].astype(np.uint32),
        records["object"].astype(np.uint32),
        sizes,
        CODES[records["status"] & 0x3F],
    )


def _gets(records: NDArray[np.void], before: int, skipped: Skipped) -> NDArray[np.void]:
    """Return the GET requests among records; `before` is the number of records before them in the file."""
    known = ((records["method"] < METHODS) & ((records["status"] & 0x3F) < len(CODES)) & (records["type"] < TYPES))
    if not known.all():
        first = int(np.argmin(known))
        method, status, type_ = (int(records[name][first]) for name in ("method", "status", "type"))
        skipped.add(
            f"record {before + first + 1}",
            f"method {method}, status {status & 0x3F}, type {type_}: "
            f"expected at most {METHODS - 1}, {len(CODES) - 1}, {TYPES - 1}",
            int(np.count_nonzero(~known)),
        )
    gets = known & (records["method"] == GET)
    if left_out := int(np.count_nonzero(known)) - int(np.count_nonzero(gets)):
        skipped.notes["requests left out, not a GET"] += left_out
    return records if gets.all() else records[gets]


def _numbered(values: NDArray[np.uint32]) -> tuple[IdArray, tuple[str, ...]]:
    """Return ids from 0, and their names, which are the numbers of the log."""
    largest = int(values.max(initial=0))
    if largest > max(4 * len(values), 1 << 22):  # numbers too sparse for an array with an element for each
        distinct, ids = np.unique(values, return_inverse=True)
        return ids.astype(np.int32), tuple(map(str, distinct.tolist()))
    places = values.astype(np.int32)
    occurs = np.zeros(largest + 1, dtype=bool)
    occurs[places] = True
    numbers = np.cumsum(occurs, dtype=np.int32) - 1
    return numbers[places], tuple(map(str, np.flatnonzero(occurs).tolist()))
