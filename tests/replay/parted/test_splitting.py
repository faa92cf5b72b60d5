import resource
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.replay.parted import splitting
from bestbefore.replay.parted.manifest import MANIFEST
from bestbefore.replay.parted.splitting import BYS, part_of, split
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.columns.files import read_requests, read_updates
from bestbefore.replay.traces.errors import TraceError

NAMES = ("https://a.example.org/1", "https://b.example.org/2", "https://example.com/", "x/1", "x/2", "é")
EVENTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, len(NAMES) - 1), st.integers(0, 2)), min_size=1)


def test_the_part_of_an_object_is_the_same_everywhere_and_its_group_is_in_one() -> None:
    assert [part_of(name, "object", 100) for name in NAMES] == [87, 52, 51, 75, 4, 43]
    assert part_of(NAMES[0], "domain", 100) == part_of(NAMES[1], "domain", 100)
    assert part_of("x/1", "prefix", 100) == part_of("x/2", "prefix", 100)


@settings(max_examples=25)
@given(EVENTS, EVENTS, st.sampled_from(BYS), st.integers(2, 5))
def test_each_event_is_in_the_part_of_its_object_in_the_order_of_the_trace(
    tmp_path_factory: pytest.TempPathFactory,
    asked: list[tuple[int, int, int]],
    changed: list[tuple[int, int, int]],
    by: str,
    parts: int,
) -> None:
    folder = tmp_path_factory.mktemp("t") / "new"
    times, ids, clients = (np.array(column) for column in zip(*asked, strict=True))
    requests = Requests.of(times.astype(float), clients, ids, ("a", "b", "c"), NAMES)
    times, ids, _ = (np.array(column) for column in zip(*changed, strict=True))
    updates = Updates.of(times.astype(float), ids, NAMES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splitting, "ROWS_AT_ONCE", 3)
        trace = split(updates, requests, folder, by, parts)
    assert (trace.requests, trace.updates) == (len(requests), len(updates))
    assert (trace.first_s, trace.last_s) == (min(t for t, *_ in asked + changed), max(t for t, *_ in asked + changed))
    for number, part in enumerate(trace.parts):
        own = [(t, str("abc".index(c)), name) for t, c, name in requests.rows() if part_of(name, by, parts) == number]
        assert list(read_requests(folder / part.requests, print).rows()) == own
        changes = [(t, name) for t, name in updates.rows() if part_of(name, by, parts) == number]
        assert list(read_updates(folder / part.updates, print).rows()) == changes
        assert (part.request_rows, part.update_rows) == (len(own), len(changes))
    names = {name for part in trace.parts for name in (part.updates, part.requests)}
    assert {path.name for path in folder.iterdir()} == {MANIFEST, *names}


def test_a_folder_that_has_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    requests = Requests(np.zeros(1), np.zeros(1, np.int32), np.zeros(1, np.int32), ("",), ("a",))
    with pytest.raises(TraceError, match=r": exists: expected a new folder$"):
        split(Updates(np.zeros(0), np.zeros(0, np.int32), ()), requests, tmp_path, "object", 2)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_disk_that_fills_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    ids = np.zeros(1000, dtype=np.int32)
    times_s = np.arange(1000.0)
    requests = Requests.of(times_s, ids, ids, ("client",), ("a",))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large: ") as raised:
            split(Updates.of(times_s, ids, ("a",)), requests, tmp_path / "t", "object", 1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert raised.value.filename.startswith(str(tmp_path / "t"))
    assert list((tmp_path / "t").iterdir()) == []
