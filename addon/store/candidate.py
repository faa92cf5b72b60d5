"""A candidate for prefetching as it is stored: what a schedule needs of it, so that it starts without all records.

A candidate is `MARK` and numbers of fixed places (`ROW`), so that many are decoded in one array; after them, for few,
the ranges and beats in MessagePack. An older form, all in MessagePack, is still read.
"""

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.clockwork.beats import Clockwork, is_valid


class Candidate(NamedTuple):
    """The estimate of an object as of its last contact, and the demand for it."""

    rate_per_hour: float
    """The expected updates."""
    contact_s: float
    """When the object was last contacted, policy time."""
    requests: int
    """How often clients asked for it in the last days that count."""
    hours: bytes
    """(24,) the rates of the UTC hours, relative to each other."""
    weekend_share: float
    """The share of updates on Saturdays and Sundays."""
    asked_from: tuple[str, ...] = ()
    """The ranges of private addresses from which clients have requested it."""
    due_s: float | None = None
    """When it was due next at the price of its last contact, policy time, for display; None: unknown."""
    clockwork: Clockwork | None = None
    """The beats at which the object changes; None if it does not change like clockwork."""
    expected_bytes: float = 0.0
    """How many bytes a fetch is expected to receive, where a budget limits them; else 0."""


HOURS = 24
MARK = 0xC1
"""The first byte, with which no MessagePack begins."""
ROW = np.dtype([
    ("mark", "u1"), ("rate_per_hour", "<f8"), ("contact_s", "<f8"), ("requests", "<u4"), ("hours", "u1", HOURS),
    ("weekend_share", "<f8"), ("due_s", "<f8"), ("expected_bytes", "<f8"),
])  # fmt: skip
"""The fields of `Candidate` of a fixed size; `due_s` is NaN where unknown."""
MOST_REQUESTS = 2**32 - 1

type Rows = NDArray[np.void]
type Rare = tuple[tuple[str, ...], Clockwork | None]
"""What few candidates have: `asked_from` and `clockwork`."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Candidate)
_rare_decoder = msgspec.msgpack.Decoder(Rare.__value__)
_NOTHING: Rare = ((), None)
_STRUCT = struct.Struct(f"<BddI{HOURS}sddd")  # as `ROW`
_MARK = bytes([MARK])
_UNREADABLE = bytes(ROW.itemsize)


class CandidateTable(NamedTuple):
    """Candidates of different objects, in columns."""

    urls: list[str]
    rows: Rows
    """(n,) of the dtype `ROW`."""
    rare: dict[int, Rare]
    """By place, of those that have any."""

    @classmethod
    def of(cls, candidates: Mapping[str, Candidate]) -> "CandidateTable":
        """Put single candidates into a table."""
        rows = np.frombuffer(b"".join(map(_head, candidates.values())), ROW)
        rare = {i: _rare_of(one) for i, one in enumerate(candidates.values()) if _rare_of(one) != _NOTHING}
        return cls(list(candidates), rows, rare)

    def __len__(self) -> int:
        return len(self.urls)

    def only(self, places: Sequence[int]) -> "CandidateTable":
        """Return the candidates at these places, which ascend."""
        if len(places) == len(self.urls):
            return self
        rare = {i: self.rare[place] for i, place in enumerate(places) if place in self.rare} if self.rare else {}
        rows = self.rows[np.asarray(places, dtype=np.intp)]
        return CandidateTable([self.urls[place] for place in places], rows, rare)

    def pieces(self, size: int) -> "Iterator[CandidateTable]":
        """Yield the candidates in tables of at most so many."""
        for first in range(0, len(self.urls), size):
            yield self.only(range(first, min(first + size, len(self.urls))))

    def items(self) -> Iterator[tuple[str, Candidate]]:
        """Yield the candidates one by one, by URL."""
        for i, (url, row) in enumerate(zip(self.urls, self.rows, strict=True)):
            asked_from, clockwork = self.rare.get(i, _NOTHING)
            due_s = float(row["due_s"])
            yield url, Candidate(
                float(row["rate_per_hour"]), float(row["contact_s"]), int(row["requests"]), row["hours"].tobytes(),
                float(row["weekend_share"]), asked_from, None if math.isnan(due_s) else due_s, clockwork,
                float(row["expected_bytes"]),
            )  # fmt: skip


def encode(candidate: Candidate) -> bytes:
    rare = _rare_of(candidate)
    return _head(candidate) + (b"" if rare == _NOTHING else _encoder.encode(rare))


def _head(candidate: Candidate) -> bytes:
    due_s = math.nan if candidate.due_s is None else candidate.due_s
    return _STRUCT.pack(
        MARK, candidate.rate_per_hour, candidate.contact_s, min(candidate.requests, MOST_REQUESTS), candidate.hours,
        candidate.weekend_share, due_s, candidate.expected_bytes,
    )  # fmt: skip


def _rare_of(candidate: Candidate) -> Rare:
    return candidate.asked_from, candidate.clockwork


def decode(encoded: bytes) -> Candidate:
    """Decode a candidate. Raises ValueError for data that this version does not read."""
    table, faults = decode_all({"": encoded})
    if faults:
        raise ValueError(faults[0])
    return next(table.items())[1]


def decode_all(encoded: Mapping[str, bytes]) -> tuple[CandidateTable, list[str]]:
    """Decode candidates by URL; return them, and what is wrong with each that cannot be read."""
    heads, rare, faults = list[bytes](), dict[int, Rare](), dict[int, str]()
    for i, one in enumerate(encoded.values()):
        head = one
        if len(one) != ROW.itemsize or one[0] != MARK:
            try:
                head, others = _divided(one)
                if others != _NOTHING:
                    rare[i] = others
            except (msgspec.DecodeError, ValueError, RecursionError, struct.error) as e:
                faults[i], head = str(e), _UNREADABLE
        heads.append(head)
    rows = np.frombuffer(b"".join(heads), ROW)
    for is_wrong, what in _checked(rows):
        faults.update((i, what) for i in np.flatnonzero(is_wrong).tolist() if i not in faults)
    table = CandidateTable(list(encoded), rows, rare)
    good = table.only([i for i in range(len(rows)) if i not in faults]) if faults else table
    return good, [f"a stored candidate cannot be read: {what}" for what in faults.values()]


def _checked(rows: Rows) -> Iterator[tuple[NDArray[np.bool_], str]]:
    """Yield which rows are wrong, and why."""
    rates, shares, sizes = rows["rate_per_hour"], rows["weekend_share"], rows["expected_bytes"]
    yield ~((rates >= 0.0) & (rates < 1e9)), "its rate is out of its range"
    yield ~((shares >= 0.0) & (shares <= 1.0)), "its share of weekends is out of its range"
    yield ~(np.abs(rows["contact_s"]) < 1e12), "its last contact is out of its range"
    yield ~((sizes >= 0.0) & (sizes < 1e18)), "its size is out of its range"
    yield ~rows["hours"].any(axis=1), "it has no pattern of a day"


def _divided(encoded: bytes) -> tuple[bytes, Rare]:
    """Return the row and what else there is, of the older form too. Raises ValueError and what its decoders do."""
    if not encoded.startswith(_MARK):
        candidate = _decoder.decode(encoded)
        if len(candidate.hours) != HOURS:
            raise ValueError("it has no pattern of a day")
        head, rare = _head(candidate), _rare_of(candidate)
    else:
        head, rare = encoded[: ROW.itemsize], _rare_decoder.decode(encoded[ROW.itemsize :])
    if rare[1] is not None and not is_valid(rare[1]):
        raise ValueError("its beats are not in order")
    return head, rare
