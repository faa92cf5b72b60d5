"""The origin of a replay says what a real one could say at the moment of the clock."""

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.policies.models.history import History
from bestbefore.replay.played.origin import PlayedOrigin, TraceObjects, etag
from bestbefore.replay.simulate.complete import CompleteHistories, Grouping

OBJECTS = TraceObjects(
    CompleteHistories.of_histories(
        {name: History.of(times_s, 0.0) for name, times_s in {"a/1": [100.0, 300.5], "a/2": [], "b/1": [7.0]}.items()},
        Grouping.PREFIX,
    )
)
URL = OBJECTS.urls["a/1"]


async def asked(t: float, *conditions: tuple[str, str], tells_times: bool = True, url: str = URL) -> tuple[Head, bytes]:
    request = Request("GET", Target.parse(url), Fields(conditions))
    fetched = await PlayedOrigin(OBJECTS, ManualClock(t), tells_times=tells_times).fetch(request)
    assert (fetched.request_time_s, fetched.response_time_s) == (t, t)
    return fetched.head, b"".join([chunk async for chunk in fetched.chunks])


def test_the_members_of_a_group_have_one_host_and_no_other_object_has_it() -> None:
    hosts = {name: url.split("/")[2] for name, url in OBJECTS.urls.items()}
    assert hosts["a/1"] == hosts["a/2"] != hosts["b/1"]
    assert len(set(OBJECTS.urls.values())) == 3


def test_an_update_is_there_at_its_instant() -> None:
    assert [OBJECTS.version(URL, t) for t in (99.9, 100.0, 300.4, 300.5)] == [0, 1, 1, 2]
    assert OBJECTS.updates_s(URL, 300.0) == [100.0]


async def test_content_and_tag_are_the_number_of_the_version() -> None:
    head, content = await asked(100.0)
    assert (head.status, content, head.fields.get("etag")) == (200, b"1", etag(1))


async def test_last_modified_is_the_latest_update_in_whole_seconds() -> None:
    head, _ = await asked(301.75)
    assert head.fields.get("last-modified") == "Thu, 01 Jan 1970 00:05:00 GMT"
    assert head.fields.get("date") == "Thu, 01 Jan 1970 00:05:01 GMT"


@pytest.mark.parametrize(("t", "tells_times"), [(99.0, True), (301.0, False)])
async def test_last_modified_is_left_out_before_the_first_update_or_if_the_store_knows_all(
    t: float, tells_times: bool
) -> None:
    head, _ = await asked(t, tells_times=tells_times)
    assert "last-modified" not in head.fields


async def test_who_has_the_version_of_the_moment_gets_no_content() -> None:
    head, content = await asked(300.0, ("If-None-Match", etag(1)))
    assert (head.status, content) == (304, b"")
    head, content = await asked(301.0, ("If-None-Match", etag(1)))
    assert (head.status, content) == (200, b"2")
