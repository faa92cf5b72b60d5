"""Requests as streams: those for one object in one cache are one stream, in order of time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import FloatArray
from bestbefore.replay.kernels.arrays.stream_codes import codes_of, number_of_caches, sort_with_places
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.sweeps.progress import Bar, no_bar
from bestbefore.replay.traces.columns.columns import ROWS_AT_ONCE, IdArray, Requests

REQUESTS_AT_ONCE = 1 << 25
"""The most requests that are sorted in memory; with more, the streams are kept in temporary files."""


@dataclass(frozen=True, slots=True, eq=False)
class Streams:
    """The streams, ordered by object, as concatenated arrays."""

    times_s: FloatArray
    """(requests,) ascending within each stream."""
    firsts: NDArray[np.int64]
    """(streams + 1,) the first request of each stream, then the number of requests."""
    object_ids: IdArray
    """(streams,) the object of each stream, ascending."""

    @classmethod
    def of(cls, requests: Requests, cache: Cache, bar: Bar = no_bar, requests_at_once: int = REQUESTS_AT_ONCE) -> Self:
        """Sort requests, whose columns may be mapped from files.

        This takes up to 20 bytes of memory for each request beside the columns. With more than `requests_at_once`
        requests it takes 28 bytes for each of that many (or of the most for one object), and the rest is on disk.
        Raises OSError if the files cannot be written.
        """
        ranges = list(_object_ranges(requests, requests_at_once))
        with bar("sorting", len(ranges)) as watch:
            if len(ranges) > 1:
                return cls._on_disk(requests, cache, watch(iter(ranges)))
            codes = np.empty(len(requests), dtype=np.int64)
            for rows in _chunks(len(requests), ROWS_AT_ONCE):
                codes[rows] = codes_of(requests, cache, rows)
            return cls._sorted(codes, requests.times_s, number_of_caches(requests, cache))

    @classmethod
    def _on_disk(cls, requests: Requests, cache: Cache, ranges: Iterable[tuple[int, int, int]]) -> Self:
        with TemporaryFile() as times_s, TemporaryFile() as firsts, TemporaryFile() as object_ids:
            done = 0
            for begin, end, n in ranges:
                codes, selected_s = _selected(requests, cache, begin, end, n)
                part = cls._sorted(codes, selected_s, number_of_caches(requests, cache))
                times_s.write(part.times_s.data)
                firsts.write((part.firsts[:-1] + done).data)
                object_ids.write(part.object_ids.data)
                done += n
            firsts.write(np.array([done]).data)
            return cls(_mapped(times_s, np.float64), _mapped(firsts, np.int64), _mapped(object_ids, np.int32))

    @classmethod
    def _sorted(cls, codes: NDArray[np.int64], times_s: FloatArray, caches: int) -> Self:
        """Make the streams of requests in order of time; `codes` is overwritten."""
        order = None
        place_bits = sort_with_places(codes)
        if place_bits is None:
            order = codes.argsort(kind="stable")
            codes, place_bits = codes[order], 0
        chunks = list(_chunks(len(codes), ROWS_AT_ONCE))
        n = sum(int(np.count_nonzero(_begins_stream(codes, rows, place_bits))) for rows in chunks)
        firsts = np.full(n + 1, len(codes), dtype=np.int64)
        object_ids = np.empty(n, dtype=np.int32)
        # The times overwrite the codes, chunk by chunk.
        sorted_s = codes.view(np.float64)
        for rows in reversed(chunks):
            begins = np.flatnonzero(_begins_stream(codes, rows, place_bits)) + rows.start
            firsts[n - len(begins) : n] = begins
            object_ids[n - len(begins) : n] = (codes[begins] >> place_bits) // caches
            n -= len(begins)
            places = codes[rows] & ((1 << place_bits) - 1) if order is None else order[rows]
            sorted_s[rows] = times_s[places]
        return cls(sorted_s, firsts, object_ids)

    def __len__(self) -> int:
        return len(self.object_ids)

    def shares(self, parts: int, streams_each: int) -> list[tuple[int, int]]:
        """Divide the streams into about `parts` ranges (begin, end) with similar numbers of requests.

        No range has more than `streams_each` streams.
        """
        requests = int(self.firsts[-1])
        ends = self.firsts.searchsorted([requests * part // parts for part in range(1, parts + 1)]).tolist()
        shares = []
        begin = 0
        for end in ends:
            shares += [(start, min(start + streams_each, end)) for start in range(begin, end, streams_each)]
            begin = max(begin, end)
        return shares


def _selected(requests: Requests, cache: Cache, begin: int, end: int, n: int) -> tuple[NDArray[np.int64], FloatArray]:
    """The codes and times of the n requests for the objects from `begin` up to `end`."""
    codes, times_s = np.empty(n, dtype=np.int64), np.empty(n)
    filled = 0
    for rows in _chunks(len(requests), ROWS_AT_ONCE):
        ids = requests.object_ids[rows]
        chosen = np.flatnonzero((ids >= begin) & (ids < end)) + rows.start
        part = slice(filled, filled + len(chosen))
        codes[part] = codes_of(requests, cache, chosen)
        times_s[part] = requests.times_s[chosen]
        filled += len(chosen)
    return codes, times_s


def _object_ranges(requests: Requests, at_most: int) -> Iterator[tuple[int, int, int]]:
    """Yield ranges of object ids (begin, end, requests) with at most `at_most` requests, or of one object."""
    totals = np.zeros(len(requests.objects) + 1, dtype=np.int64)
    for rows in _chunks(len(requests), max(ROWS_AT_ONCE, len(requests.objects))):
        totals[1:] += np.bincount(requests.object_ids[rows], minlength=len(requests.objects))
    np.cumsum(totals, out=totals)
    begin = 0
    while totals[begin] < totals[-1]:
        end = max(int(totals.searchsorted(totals[begin] + at_most, side="right")) - 1, begin + 1)
        yield begin, end, int(totals[end] - totals[begin])
        begin = end


def _begins_stream(keys: NDArray[np.int64], rows: slice, place_bits: int) -> NDArray[np.bool_]:
    """Return whether each of these rows has another code than the row before."""
    codes = keys[max(rows.start - 1, 0) : rows.stop] >> place_bits
    changes = codes[1:] != codes[:-1]
    return changes if rows.start else np.concatenate(([True], changes))


def _chunks(n: int, rows: int) -> Iterator[slice]:
    return (slice(start, min(start + rows, n)) for start in range(0, n, rows))


def _mapped(file: IO[bytes], dtype: type[np.generic]) -> NDArray[Any]:
    """Return the content of a file as a memory map, which remains valid when the file is closed.

    It is copy-on-write, not read-only, since numba would compile again for read-only arrays.
    """
    file.flush()
    return np.asarray(np.memmap(file, dtype=dtype, mode="c"))
