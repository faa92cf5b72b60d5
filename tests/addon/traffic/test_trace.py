import csv
import gzip
import io
from pathlib import Path

import pytest

from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.update import Update
from bestbefore.addon.traffic.files import LoggedRequest, TrafficFiles
from bestbefore.addon.traffic.trace import REQUEST_COLUMNS, UPDATE_COLUMNS, WRITERS, ExportedRequests, ExportedUpdates
from bestbefore.policies.units import HOUR_S


def test_each_kind_of_update_has_the_time_that_is_known_of_it() -> None:
    updates = ExportedUpdates()
    updates.add(
        Record(
            "http://example.org/a",
            since_s=2 * HOUR_S,
            last_contact_s=9 * HOUR_S,
            updates=(Update(5 * HOUR_S, 5 * HOUR_S), Update(6 * HOUR_S, 7 * HOUR_S)),
            folded=((3, 2),),
            last_modified_s=HOUR_S + 0.5,
        )
    )
    assert list(updates.rows()) == [
        ("http://example.org/a", HOUR_S + 0.5),
        ("http://example.org/a", 3.25 * HOUR_S),
        ("http://example.org/a", 3.75 * HOUR_S),
        ("http://example.org/a", 5 * HOUR_S),
        ("http://example.org/a", 6.5 * HOUR_S),
    ]
    assert (updates.objects, updates.since_s, updates.in_intervals, updates.folded) == (1, 2 * HOUR_S, 1, 2)


def test_updates_of_several_objects_are_in_the_order_of_time() -> None:
    updates = ExportedUpdates()
    for name, since_s, times in (("b", 5.0, (7.0, 30.0)), ("a", 3.0, (10.0,)), ("c", 9.0, ())):
        updates.add(Record(name, since_s, 40.0, updates=tuple(Update(t, t) for t in times)))
    assert list(updates.rows()) == [("b", 7), ("a", 10), ("b", 30)]
    assert (updates.objects, updates.since_s) == (3, 3.0)


def test_a_folded_update_is_not_before_its_object_was_observed() -> None:
    updates = ExportedUpdates()
    updates.add(Record("a", since_s=3.9 * HOUR_S, last_contact_s=9 * HOUR_S, folded=((3, 1),)))
    assert list(updates.rows()) == [("a", 3.9 * HOUR_S)]


def test_requests_are_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    files = TrafficFiles(tmp_path)
    times = (1_706_270_402.0, 1_706_270_401.25, 1_706_184_000.0)
    files.append(LoggedRequest(t, f"c{t % 2}", "http://e/", 1, 200, Outcome.HIT, "ttl") for t in times)
    requests = ExportedRequests(files)
    assert [row[0] for row in requests.rows()] == [1_706_184_000, 1_706_270_401.25, 1_706_270_402]
    assert (requests.count, len(requests.objects), len(requests.clients)) == (3, 1, 2)
    assert (requests.first_s, requests.last_s) == (times[2], times[0])


@pytest.mark.parametrize("format_", WRITERS)
def test_any_url_can_be_read_again(format_: str) -> None:
    urls = ['http://e/?q="a,b"', "http://e/\xe9\n", "http://e/ "]
    file = io.BytesIO()
    WRITERS[format_](file, UPDATE_COLUMNS, [(url, 1) for url in urls])
    written = gzip.decompress(file.getvalue()) if format_ == "csv.gz" else file.getvalue()
    header, *rows = csv.reader(io.StringIO(written.decode(), newline=""))
    assert header == list(UPDATE_COLUMNS)
    assert rows == [[url, "1"] for url in urls]


def test_the_columns_that_a_replay_asks_for_are_there() -> None:
    assert REQUEST_COLUMNS[:3] == ("time", "client", "object")
