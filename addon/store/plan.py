"""The plan of prefetches, as it is kept: which objects are asked for again, when, and what for."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import msgspec


@dataclass(frozen=True, slots=True)
class Job:
    """A planned fetch."""

    url: str
    due_s: float
    """Policy time."""
    gain: float
    """Requests that are expected to be answered as the origin would, instead of with what it had before."""
    per_day: float
    """How often the object is fetched."""
    rate_per_hour: float
    """Updates of the object, as believed."""
    requests_per_hour: float
    asked_from: tuple[str, ...] = ()
    """The ranges of private addresses from which clients have asked for it."""


@dataclass(frozen=True)
class Plan:
    """A plan: all jobs from one planning to the next, and some way beyond in case that is late."""

    made_s: float
    until_s: float
    budget_per_day: float
    objective: str
    objects: int
    """How many were considered."""
    jobs: tuple[Job, ...] = field(default=())
    """In the order of their times."""

    def without(self, matches: Callable[[str], bool]) -> Self:
        """The plan less the jobs of some URLs."""
        return replace(self, jobs=tuple(job for job in self.jobs if not matches(job.url)))

    @cached_property
    def version(self) -> str:
        """A name that differs between plans."""
        return hashlib.blake2b(encode(self), digest_size=8).hexdigest()


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Plan)


def encode(plan: Plan) -> bytes:
    return _encoder.encode(plan)


def decode(encoded: bytes) -> Plan:
    """Raises ValueError for what this version does not write."""
    try:
        return _decoder.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise ValueError(f"the stored plan cannot be read: {e}") from None
