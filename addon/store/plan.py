"""The stored plan of prefetches: which objects are fetched, when, and with which gain."""

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
    """How many requests are expected to get a current answer instead of an outdated one."""
    per_day: float
    """How often the object is fetched, per day."""
    rate_per_hour: float
    """The estimated rate of updates of the object."""
    requests_per_hour: float
    asked_from: tuple[str, ...] = ()
    """The ranges of private addresses from which clients have requested it."""


@dataclass(frozen=True)
class Plan:
    """A plan: all jobs until the next planning, and some beyond in case it is late."""

    made_s: float
    until_s: float
    budget_per_day: float
    objective: str
    objects: int
    """How many objects were considered."""
    jobs: tuple[Job, ...] = field(default=())
    """In the order of their due times."""

    def without(self, matches: Callable[[str], bool]) -> Self:
        """Return the plan without the jobs of some URLs."""
        return replace(self, jobs=tuple(job for job in self.jobs if not matches(job.url)))

    @cached_property
    def version(self) -> str:
        """A string that is different for each plan."""
        return hashlib.blake2b(encode(self), digest_size=8).hexdigest()


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Plan)


def encode(plan: Plan) -> bytes:
    return _encoder.encode(plan)


def decode(encoded: bytes) -> Plan:
    """Decode a plan. Raises ValueError for data that this version does not write."""
    try:
        return _decoder.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise ValueError(f"the stored plan cannot be read: {e}") from None
