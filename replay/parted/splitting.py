"""The division of a trace into parts, each with all events of its objects.

The rows of requests go through temporary files in the folder, so that memory holds one part, not the trace.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bestbefore.replay.parted.manifest import BY_OBJECT, PartedTrace, TracePart
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.traces.columns.columnar import Text
from bestbefore.replay.traces.columns.columns import ROWS_AT_ONCE, IdArray, Requests, Updates, occurring
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats.parquet import write_events
from bestbefore.replay.whole_file import naming, whole_file

BYS = (BY_OBJECT, Grouping.PREFIX.value, Grouping.DOMAIN.value)
MOST_PARTS = 512
"""The most parts; each has an open file while a trace is divided."""
_ROW = np.dtype([("time", "<f8"), ("client", "<i4"), ("object", "<i4")])


def part_of(name: str, by: str, parts: int) -> int:
    """The part of an object, from 0, by a digest that is the same everywhere."""
    key = name if by == BY_OBJECT else Grouping(by).group_of(name)
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest()) % parts


def split(updates: Updates, requests: Requests, folder: Path, by: str, parts: int) -> PartedTrace:
    """Write a trace to a new folder, in this many parts. Clients are stored by number.

    Columns of requests may be mapped from a file that is larger than memory. Raises TraceError if the folder is not
    empty, or polars is not installed, and OSError.
    """
    if not len(requests):
        raise TraceError("no request: expected a trace with requests")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise TraceError(f"{folder}: exists: expected a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with naming(folder):
            return _written(updates, requests, folder, by, parts)
    except BaseException:
        for path in folder.iterdir():  # so that the command can be given again
            path.unlink()
        raise


def _written(updates: Updates, requests: Requests, folder: Path, by: str, parts: int) -> PartedTrace:
    _stage(requests, _parts_of(requests.objects, by, parts), folder, parts)
    updated = _parts_of(updates.objects, by, parts)
    done = []
    for part in range(parts):
        own = updated[updates.object_ids] == part
        changes = Updates(updates.times_s[own], updates.object_ids[own], updates.objects)
        staged = _staged(folder, part)
        rows = np.fromfile(staged, _ROW)
        done.append(write_part(folder, part, changes, rows["time"], rows["client"], rows["object"], requests.objects))
        staged.unlink()
    ends = [float(times_s[end]) for times_s in (updates.times_s, requests.times_s) if len(times_s) for end in (0, -1)]
    trace = PartedTrace(folder, by, min(ends), max(ends), tuple(done))
    trace.write()
    return trace


def write_part(
    folder: Path, part: int, updates: Updates, times_s: NDArray[np.float64], client_ids: IdArray, object_ids: IdArray,
    objects: tuple[str, ...],
) -> TracePart:
    """Write the two files of a part, whose requests are for these objects by these clients, in order of time."""
    files = f"{part:04}.updates.parquet", f"{part:04}.requests.parquet"
    asked, changed = _only_occurring(object_ids, objects), _only_occurring(updates.object_ids, updates.objects)
    with whole_file(folder / files[0]) as file:
        write_events(file, updates.times_s, None, changed)
    with whole_file(folder / files[1]) as file:
        write_events(file, times_s, client_ids, asked)
    digest = blake2b(digest_size=16)
    for column in (updates.times_s, changed.ids, times_s, client_ids, asked.ids):
        digest.update(np.ascontiguousarray(column).data)
    for text in (changed, asked):
        digest.update("\0".join(text.names).encode())
    return TracePart(*files, len(updates), len(times_s), digest.hexdigest())


def _parts_of(names: Iterable[str], by: str, parts: int) -> NDArray[np.int16]:
    return np.array([part_of(name, by, parts) for name in names], dtype=np.int16)


def _staged(folder: Path, part: int) -> Path:
    return folder / f"{part:04}.rows"


def _stage(requests: Requests, parts_of: NDArray[np.int16], folder: Path, parts: int) -> None:
    """Write the rows of each part to a file of its own, in their order."""
    with ExitStack() as stack:
        files = [stack.enter_context(_staged(folder, part).open("wb")) for part in range(parts)]
        for rows, part_ids in _chunks(requests, parts_of):
            order = part_ids.argsort(kind="stable")
            ends = np.bincount(part_ids, minlength=parts).cumsum()
            for file, own in zip(files, np.split(rows[order], ends[:-1]), strict=True):
                file.write(own.data)


def _chunks(requests: Requests, parts_of: NDArray[np.int16]) -> Iterator[tuple[NDArray[np.void], NDArray[np.int16]]]:
    """Yield the rows of requests with their parts, some at a time."""
    for start in range(0, len(requests), ROWS_AT_ONCE):
        chunk = slice(start, start + ROWS_AT_ONCE)
        rows = np.empty(len(requests.times_s[chunk]), _ROW)
        rows["time"], rows["client"] = requests.times_s[chunk], requests.client_ids[chunk]
        rows["object"] = requests.object_ids[chunk]
        yield rows, parts_of[rows["object"]]


def _only_occurring(ids: IdArray, names: tuple[str, ...]) -> Text:
    """Number the names that occur, in their order, without the others."""
    present = np.flatnonzero(occurring(ids, len(names)))
    numbers = np.zeros(len(names), dtype=np.int32)
    numbers[present] = np.arange(len(present))
    return Text(numbers[ids], tuple(names[i] for i in present.tolist()))


