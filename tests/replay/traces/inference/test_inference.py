"""Each log is a list of (time, client, size or validator); None in place of it is 304."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.replay.traces.inference.accesses import AccessRows
from bestbefore.replay.traces.inference.inference import Inferred, infer_updates
from bestbefore.replay.traces.reading import read_trace

Sight = tuple[float, str, int | str | None]


def inferred(*sights: Sight, agents: dict[str, str] | None = None, object_: str = "/a") -> Inferred:
    rows = AccessRows()
    for time_s, client, told in sights:
        rows.append(
            float(time_s),
            client,
            object_,
            status=304 if told is None else 200,
            size_bytes=told if isinstance(told, int) else -1,
            validator=told if isinstance(told, str) else None,
            agent=agents and agents[client],
        )
    return infer_updates(rows.accesses())


def updates(result: Inferred) -> list[tuple[float, str]]:
    return list(result.updates.rows())


def polled(client: str, start: int, end: int, told: int | str | None, step: int = 60) -> list[Sight]:
    return [(t, client, told) for t in range(start, end, step)]


def test_a_size_that_is_held_after_another_is_an_update_when_it_is_first_seen() -> None:
    result = inferred(*polled("x", 0, 600, 100), *polled("x", 600, 1200, 200))
    assert updates(result) == [(600.0, "/a")]
    assert result.within_s.tolist() == [60.0]
    assert result.seen_by.tolist() == [1]
    assert result.chances.tolist() == pytest.approx([1 / 184756])  # ways to choose 10 of 20
    assert result.doubtful == 0


def test_three_before_and_three_after_are_just_enough() -> None:
    assert len(inferred(*polled("x", 0, 180, 100), *polled("x", 180, 360, 200)).updates) == 1
    few = inferred(*polled("x", 0, 180, 100), *polled("x", 180, 330, 200, 120))
    assert (len(few.updates), few.doubtful) == (0, 1)


def test_a_size_must_be_held_for_two_minutes() -> None:
    before, after = polled("x", 0, 600, 100), polled("x", 800, 1400, 300)
    assert updates(inferred(*before, *polled("x", 600, 719, 200, 7), *after)) == [(800.0, "/a")]
    assert updates(inferred(*before, *polled("x", 600, 721, 200, 8), *after)) == [(600.0, "/a"), (800.0, "/a")]


def test_a_size_that_returns_was_no_update() -> None:
    assert len(inferred(*polled("x", 0, 600, 100), *polled("x", 600, 1200, 200), (1260.0, "x", 100)).updates) == 0


def test_servers_may_lag_for_two_minutes() -> None:
    before, after = polled("x", 0, 600, 100), polled("x", 600, 3000, 200)
    assert updates(inferred(*before, *after, (715.0, "y", 100))) == [(600.0, "/a")]
    assert updates(inferred(*before, *after, (725.0, "y", 100))) == []


def test_content_codings_side_by_side_are_one_era() -> None:
    """What french/frntpage.htm of the World Cup site did: two sizes in turn, then two others."""
    first = [(t, f"c{t % 5}", (12824, 12619)[t % 3 > 0]) for t in range(0, 4000, 100)]
    then = [(t, f"c{t % 7}", (12847, 12642)[t % 3 > 0]) for t in range(4000, 8000, 100)]
    assert updates(inferred(*sorted([*first, *then, (3950, "k", 12619), (4050, "k", 12642)]))) == [(4000.0, "/a")]


def test_clients_that_never_saw_the_other_size_do_not_make_an_update() -> None:
    """One crawler came on Monday, another, without compression, on Tuesday."""
    monday = [(t, f"a{t}", 100) for t in range(0, 6000, 300)]
    tuesday = [(t, f"b{t}", 200) for t in range(90000, 96000, 300)]
    result = inferred(*monday, *tuesday)
    assert (len(result.updates), result.doubtful) == (0, 1)


def test_browsers_stand_for_clients_where_they_are_named() -> None:
    monday = [(t, f"a{t}", 100) for t in range(0, 6000, 300)]
    tuesday = [(t, f"b{t}", 200) for t in range(90000, 96000, 300)]
    same = {client: "Firefox" for _, client, _ in (*monday, *tuesday)}
    assert len(inferred(*monday, *tuesday, agents=same).updates) == 1


def test_downloads_cut_short_do_not_hide_an_update() -> None:
    cut = [(float(t), "y", 65536) for t in range(30, 12000, 1500)]
    whole = [*polled("x", 0, 6000, 100_000), *polled("x", 6000, 12000, 200_000)]
    assert updates(inferred(*sorted([*whole, *cut], key=lambda sight: sight[0]))) == [(6000.0, "/a")]


def test_without_a_majority_there_is_no_update() -> None:
    tokens = [(float(t), "x", 1000 + t) for t in range(0, 12000, 20)]
    held = [*polled("y", 0, 6000, 100), *polled("y", 6000, 12000, 200)]
    assert len(inferred(*sorted([*tokens, *held], key=lambda sight: sight[0])).updates) == 0


def test_a_304_is_a_sighting_of_the_last_version_that_the_client_got() -> None:
    with_304 = inferred((0, "x", 100), *polled("x", 60, 600, None), (600, "x", 200), *polled("x", 660, 1200, None))
    assert updates(with_304) == [(600.0, "/a")]
    assert with_304.within_s.tolist() == [60.0]
    assert len(inferred(*polled("x", 0, 600, None), *polled("y", 600, 1200, 200)).updates) == 0


def test_other_statuses_give_no_information() -> None:
    rows = AccessRows()
    for t in range(0, 1200, 60):
        rows.append(float(t), "x", "/a", status=404 if t < 600 else 500, size_bytes=100 if t < 600 else 200)
    assert len(infer_updates(rows.accesses()).updates) == 0
    assert len(infer_updates(AccessRows().accesses()).updates) == 0


def test_validators_need_no_numbers_but_one_client_that_saw_both() -> None:
    both = inferred((0, "x", '"a"'), (130, "x", '"a"'), (500, "x", '"b"'), (700, "x", '"b"'))
    assert updates(both) == [(500.0, "/a")]
    assert len(inferred((0, "x", '"a"'), (130, "x", '"a"'), (500, "y", '"b"'), (700, "y", '"b"')).updates) == 0


def test_last_modified_is_the_time_of_the_update() -> None:
    old, new = "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01 Jan 1970 01:00:00 GMT"
    result = inferred((1800, "x", old), (7200, "y", new))
    assert updates(result) == [(3600.0, "/a")]
    assert (result.within_s.tolist(), result.chances.tolist()) == ([0.0], [0.0])


def test_a_last_modified_that_is_always_now_is_none() -> None:
    made = [(float(t), "x", f"Thu, 01 Jan 1970 00:{t // 60:02}:{t % 60:02} GMT") for t in range(0, 3600, 60)]
    assert len(inferred(*made).updates) == 0


def test_short_versions_are_counted_if_validators_show_them() -> None:
    """Each minute another ETag, or another size; and one that stays, of which only the end of the log is brief."""
    each_minute = range(0, 600, 60)
    assert inferred(*((t, "x", f'"{t}"') for t in each_minute)).summary() == (
        "no update could be inferred, so that no hit can be stale; ignored, as served for less than two minutes: "
        "10 validators"
    )
    assert inferred(*((t, "x", 100 + t) for t in each_minute)).brief == 0
    assert inferred(*polled("x", 0, 60, '"a"')).brief == 0
    assert inferred(*polled("x", 0, 600, '"a"'), *polled("x", 600, 660, '"b"')).brief == 1


def test_objects_do_not_mix_and_only_changed_ones_are_named() -> None:
    rows = AccessRows()
    for t in range(0, 1200, 60):
        rows.append(t, "x", "/still", status=200, size_bytes=5)
        rows.append(t, "x", "/changed", status=200, size_bytes=5 if t < 600 else 6)
    result = infer_updates(rows.accesses())
    assert updates(result) == [(600.0, "/changed")]
    assert result.updates.objects == ("/changed",)


def test_the_summary_says_how_many_and_how_sure() -> None:
    assert inferred(*polled("x", 0, 600, 100), *polled("x", 600, 1200, 200)).summary() == (
        "1 update of 1 object inferred, seen before and after by 1 client and dated to within 60 s (medians); "
        "the chance of mere page variants is at most 1 in 1,000 for 1 of them, 1 in 20 for all"
    )
    few = inferred(*polled("x", 0, 180, 100), *polled("x", 180, 330, 200, 120))
    assert few.summary() == (
        "no update could be inferred, so that no hit can be stale; left out as doubtful: 1 apparent change"
    )


SIGHT = st.tuples(st.integers(0, 3000), st.sampled_from("xyz"), st.sampled_from([None, 1, 2, 3]))
SIGHTS = st.lists(SIGHT, max_size=60)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(SIGHTS, st.integers(0, 10**6))
def test_the_same_log_later_has_the_same_updates_later(sights: list[Sight], shift: int) -> None:
    sights = sorted(sights, key=lambda sight: sight[0])
    first = inferred(*sights)
    later = inferred(*((t + shift, client, told) for t, client, told in sights))
    assert (later.updates.times_s - shift).tolist() == first.updates.times_s.tolist()
    assert later.chances.tolist() == first.chances.tolist()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(SIGHTS)
def test_no_size_outlives_an_update_by_two_minutes(sights: list[Sight]) -> None:
    sights = sorted(sights, key=lambda sight: sight[0])
    result = inferred(*sights)
    assert np.all(result.chances <= 0.05 + 1e-9)
    assert np.all(result.seen_by >= 1)
    for time_s, _ in updates(result):
        assert any(told is not None and t == time_s for t, _, told in sights)


@pytest.mark.parametrize("coded", [False, True])
def test_planted_updates_are_found_and_none_is_invented(coded: bool) -> None:
    """Twenty clients, half of them perhaps with compression, ask at random; one download in fifty is cut short."""
    chance = np.random.default_rng(5)
    planted = np.sort(chance.uniform(0, 5 * 86400, 20))
    sizes = chance.integers(5_000, 50_000, len(planted) + 1)
    sights: list[Sight] = []
    for time_s in np.sort(chance.uniform(0, 5 * 86400, 5000)).tolist():
        client = int(chance.integers(20))
        size = int(sizes[planted.searchsorted(time_s, side="right")])
        told = size // 3 if coded and client % 2 else size
        sights.append((time_s, f"c{client}", int(told * chance.random()) if chance.random() < 0.02 else told))
    result = inferred(*sights)
    found_s = result.updates.times_s
    for before_s, seen_s in zip(found_s - result.within_s, found_s, strict=True):
        assert np.any((planted >= before_s) & (planted <= seen_s))
    assert len(found_s) >= 18


@pytest.mark.slow
def test_a_monitors_view_of_a_home_page(traces: Path) -> None:
    """What one monitor that fetched the page each minute saw change is found, without knowing the monitor."""
    accesses = read_trace(traces / "requests" / "bpgov.csv.gz", None).trace
    result = infer_updates(accesses)
    assert (len(result.updates), len(result.updates.objects), result.doubtful) == (28, 14, 166)
    seen = [t for t, o in read_trace(traces / "updates_inferred.csv.gz", None).trace.rows() if o == "req/bpgov/0"]
    found = [(t, float(w)) for (t, o), w in zip(updates(result), result.within_s, strict=True) if o == "0"]
    assert (len(seen), len(found)) == (15, 12)
    # The monitor sees a change a minute late at most; other clients may have seen it before.
    confirmed = [any(-w - 120 <= t - s <= 1 for s in seen) for t, w in found]
    assert confirmed.count(True) == 11


@pytest.mark.long
def test_updates_of_the_world_cup_site(traces: Path) -> None:
    accesses = read_trace(traces / "requests" / "wc98d6.csv.gz", None).trace
    result = infer_updates(accesses)
    assert updates(result) == [
        (894033924.0, "87"), (894033995.0, "454"), (894034232.0, "604"), (894043439.0, "396"), (894043659.0, "87"),
        (894043862.0, "310"),
    ]
    assert np.all(result.chances < 1e-18)
