"""A trace of any size from a seed, with the shape of a busy site's log, written chunk by chunk.

`python tests/bench/generated_trace.py DIR --requests N` writes DIR/updates.npz and DIR/requests.npz. The defaults are
those of the log of the 1998 World Cup site: 88 days, objects and clients as many as there, their popularity by Zipf's
law, quiet nights, and days of matches that are several times as busy as others.
"""

import argparse
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bestbefore.replay.parted.manifest import BY_OBJECT, TracePart
from bestbefore.replay.parted.splitting import part_of, write_part
from bestbefore.replay.traces.columns.columnar import table_of
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.formats import npz

DAY_S = 86_400
START_S = 893_980_800  # 1998-04-30
MATCH_DAYS = range(41, 74)  # 10 June to 12 July
OBJECT_EXPONENT, CLIENT_EXPONENT = 1.0, 0.8
ROWS_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True)
class Shape:
    """What is generated. The same shape with the same seed is the same trace."""

    requests: int
    objects: int = 89_997
    clients: int = 2_770_108
    updates: int = 1_000_000
    days: int = 88
    spread: float = 2.0
    """Of the rates at which objects change, the standard deviation of their logarithm."""
    seed: int | Sequence[int] = 1

    def rng(self, column: str, part: int = 0) -> np.random.Generator:
        """Randomness of its own for each part of each column, so that columns can be written one after another."""
        return np.random.default_rng([*np.atleast_1d(self.seed).tolist(), part, *column.encode()])

    def busy(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """The share of each hour in the requests or updates: by night a quarter of what comes by day."""
        hours = np.arange(self.days * 24)
        days = rng.uniform(0.7, 1.3, self.days) * [4.0 if day in MATCH_DAYS else 1.0 for day in range(self.days)]
        weights = np.repeat(days, 24) * (0.625 - 0.375 * np.cos((hours % 24 - 4) / 24 * 2 * np.pi))
        return weights / weights.sum()

    def request_hours(self) -> NDArray[np.int64]:
        """How many requests come in each hour."""
        rng = self.rng("hours")
        return rng.multinomial(self.requests, self.busy(rng))

    def times(self) -> Iterator[NDArray[np.float64]]:
        """The times of requests, whole seconds, ascending, an hour at a time."""
        for hour, n in enumerate(self.request_hours().tolist()):
            each_second = self.rng("time", hour).multinomial(n, np.full(3600, 1 / 3600))
            yield np.repeat(np.arange(3600.0), each_second) + (START_S + hour * 3600)

    def ids(self, column: str, n: int, exponent: float) -> Iterator[NDArray[np.int32]]:
        """Which of n each request is for or from. Whose rank is r is drawn in proportion to r ** -exponent."""
        ranked = np.cumsum(np.arange(1, n + 1) ** -exponent)
        of_rank = self.rng(f"{column} ranks").permutation(n).astype(np.int32)
        for part, start in enumerate(range(0, self.requests, ROWS_AT_ONCE)):
            rows = min(ROWS_AT_ONCE, self.requests - start)
            drawn = self.rng(column, part).random(rows) * ranked[-1]
            yield of_rank[np.minimum(ranked.searchsorted(drawn), n - 1)]

    def changes(self) -> Updates:
        """Updates in the rhythm of the requests; how often an object changes does not depend on how popular it is."""
        rng = self.rng("updates")
        hours = rng.choice(self.days * 24, self.updates, p=self.busy(rng))
        rates = rng.lognormal(0.0, self.spread, self.objects)
        ids = rng.choice(self.objects, self.updates, p=rates / rates.sum()).astype(np.int32)
        times_s = np.floor(START_S + (hours + rng.random(self.updates)) * 3600)
        return Updates.of(times_s, ids, tuple(map(str, range(self.objects))))


def write(folder: Path, shape: Shape) -> tuple[Path, Path]:
    """The files of updates and of requests."""
    updates, requests = folder / "updates.npz", folder / "requests.npz"
    with updates.open("wb") as file:
        npz.write_table(file, table_of(shape.changes()))
    with zipfile.ZipFile(requests, "w") as archive:
        _add(archive, "time", shape.requests, np.float64, shape.times)
        for column, n, exponent in (
            ("object", shape.objects, OBJECT_EXPONENT), ("client", shape.clients, CLIENT_EXPONENT)
        ):
            _add(archive, column, shape.requests, np.int32, lambda c=column, n=n, e=exponent: shape.ids(c, n, e))
            names = [str(i).encode() for i in range(n)]
            joined = np.frombuffer(b"".join(names), dtype=np.uint8)
            _add(archive, f"{column}.names", len(joined), np.uint8, lambda joined=joined: iter([joined]))
            ends = np.cumsum([len(name) for name in names], dtype=np.int64)
            _add(archive, f"{column}.ends", n, np.int64, lambda ends=ends: iter([ends]))
    return updates, requests


def write_generated_part(folder: Path, shape: Shape, parts: int, number: int) -> TracePart:
    """The files of one of so many parts by object, whose requests are drawn without those of the others.

    The parts together are a trace of this shape, but not the same one as `write` makes.
    """
    objects = tuple(map(str, range(shape.objects)))
    part_ids = np.array([part_of(name, BY_OBJECT, parts) for name in objects])
    of_rank = shape.rng("object ranks").permutation(shape.objects)
    weights = np.empty(shape.objects)
    weights[of_rank] = np.arange(1, shape.objects + 1) ** -OBJECT_EXPONENT
    shares = np.bincount(part_ids, weights, minlength=parts)
    n = int(shape.rng("parts").multinomial(shape.requests, shares / shares.sum())[number])
    own = np.flatnonzero(part_ids == number).astype(np.int32)
    part = replace(shape, requests=n, seed=[shape.seed, number])
    times_s = np.concatenate(list(part.times()))
    ranked = np.cumsum(weights[own])
    clients = np.empty(n, np.int32)
    asked = np.empty(n, np.int32)
    end = 0
    for chunk, ids in enumerate(part.ids("client", shape.clients, CLIENT_EXPONENT)):
        start, end = end, end + len(ids)
        clients[start:end] = ids
        drawn = part.rng("object", chunk).random(len(ids)) * ranked[-1]
        asked[start:end] = own[np.minimum(ranked.searchsorted(drawn), len(own) - 1)]
    changes = shape.changes()
    kept = part_ids[changes.object_ids] == number
    updates = Updates(changes.times_s[kept], changes.object_ids[kept], objects)
    return write_part(folder, number, updates, times_s, clients, asked, objects)


def _add(
    archive: zipfile.ZipFile, name: str, n: int, dtype: type, parts: Callable[[], Iterator[NDArray[np.generic]]]
) -> None:
    """An array whose parts are made one after another."""
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": (n,)}
        np.lib.format.write_array_header_1_0(file, header)
        for part in parts():
            file.write(part.data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--requests", type=int, default=300_000_000)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for path in write(given.folder, Shape(given.requests)):
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
