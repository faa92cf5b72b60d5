"""The binary logs of the 1998 World Cup web site (Arlitt and Jin; the Internet Traffic Archive).

Records of 20 bytes, big-endian: time (Unix seconds), client, object, size (all bits set: none), each 4 bytes; method,
status, type, server, each 1 byte. The method is an enumeration that begins with GET; the two upper bits of the status
are the HTTP version, the others count up through the codes of its time. Clients and objects are numbers.
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
"""The status code of each number; the last is any other."""
TYPES = 13
FIRST_S, LAST_S = 893_400_000, 901_600_000
"""The site was logged from 24 April to 27 July 1998 at most: what else would its records be?"""


def read_worldcup(source: OpenTrace, skipped: Skipped) -> Accesses:
    """The GET requests of a log. Other requests are left out and counted."""
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
    return Accesses.of(
        times_s, _numbered(clients), _numbered(objects), statuses=statuses, sizes_bytes=sizes_bytes
    )


def looks_like_worldcup(head: bytes) -> bool:
    """Whether all that is seen are records of the summer of 1998, in order."""
    records = np.frombuffer(head, dtype=RECORD, count=len(head) // RECORD.itemsize)
    times = records["time"]
    return bool(
        len(records) and (times >= FIRST_S).all() and (times <= LAST_S).all() and (times[1:] >= times[:-1]).all()
    )


def _columns(records: NDArray[np.void]) -> tuple[NDArray[Any], ...]:
    """Times, clients, objects, sizes and statuses, in our own types."""
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
    """The GET requests among records that follow on `before` others."""
    known = (
        (records["method"] < METHODS) & ((records["status"] & 0x3F) < len(CODES)) & (records["type"] < TYPES)
    )
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
    """Ids counted from 0, and their names, which are the numbers of the log."""
    largest = int(values.max(initial=0))
    if largest > max(4 * len(values), 1 << 22):  # numbers so scattered that a place for each would not fit
        distinct, ids = np.unique(values, return_inverse=True)
        return ids.astype(np.int32), tuple(map(str, distinct.tolist()))
    places = values.astype(np.int32)
    occurs = np.zeros(largest + 1, dtype=bool)
    occurs[places] = True
    numbers = np.cumsum(occurs, dtype=np.int32) - 1
    return numbers[places], tuple(map(str, np.flatnonzero(occurs).tolist()))
