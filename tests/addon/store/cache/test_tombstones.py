"""Which objects a tombstone names, and for how long it counts."""

import time

import pytest

from bestbefore.addon.engine.learning import Record
from bestbefore.addon.store.backend.interface import Tombstone, Versioned
from bestbefore.addon.store.cache import tombstones
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.tombstones import (
    TOMBSTONES_KEPT_S,
    Tombstones,
    forgets,
    matcher,
    matcher_of,
    names_one,
)

URL = "http://www.example.org/a"


@pytest.mark.parametrize(
    ("pattern", "url", "means"),
    [
        (URL, URL, True),
        (URL, URL + "b", False),
        ("http://www.example.org/*", URL, True),
        ("http://www.example.org/*", "https://www.example.org/a", False),
        ("*://*/a", "http://x/b/a", True),
        ("http://x/a?b=1", "http://x/aab=1", False),
        ("http://x/a*c", "http://x/a\nb/c", True),
        ("www.example.org", URL, True),
        ("www.example.org", "https://www.example.org:8443/a", True),
        ("www.example.org", "http://b.www.example.org/", False),
        ("*.example.org", URL, True),
        ("*.example.org", "http://example.org/", False),
        ("*.example.org", "http://x/www.example.org/", False),
        ("*.example.org/a", URL, True),
        ("*.example.org/b*", URL, False),
        ("*", URL, True),
        ("*", "no url", False),
        ("2001:db8::1", "http://[2001:db8::1]/", True),
    ],
)
def test_a_pattern_is_a_url_or_one_with_stars_or_one_of_the_configuration(pattern, url, means):
    assert matcher(pattern)(url) is means


@pytest.mark.parametrize("pattern", ["", "a b", "exa mple.org/x", "\udcff", "http://a/\udcff"])
def test_what_is_none_of_these_is_an_error(pattern):
    with pytest.raises(ValueError, match=r"host|surrogates"):
        matcher(pattern)


def test_a_pattern_with_stars_takes_no_longer_than_it_must():
    matches = matcher("https://*" + "*a" * 50 + "?x=*")
    started = time.process_time()
    assert not matches("https://" + "a" * 4000)
    assert time.process_time() - started < 1.0


def test_only_a_whole_url_names_one_object():
    assert names_one(URL)
    assert not names_one("www.example.org")
    assert not names_one(URL + "*")


def test_an_exact_tombstone_takes_a_star_as_it_is():
    matches = matcher_of(Tombstone(1.0, "http://x/a*c", exact=True))
    assert matches("http://x/a*c")
    assert not matches("http://x/abc")


def test_a_tombstone_invalidates_what_was_stored_before_it_alone():
    known = Tombstones(Faults(time.monotonic))
    known.add(Tombstone(100.0, URL, exact=True))
    known.add(Tombstone(50.0, URL, exact=True))
    known.add(Tombstone(70.0, "*.example.org", exact=False))
    other = "http://b.example.org/"
    assert [known.is_invalidated(URL, t) for t in (0.0, 99.9, 100.0, 101.0)] == [True, True, False, False]
    assert [known.is_invalidated(other, t) for t in (69.9, 70.0)] == [True, False]
    assert not known.is_invalidated("http://example.com/", 0.0)


def test_only_a_tombstone_of_forget_removes_histories_learnt_before_it():
    known = Tombstones(Faults(time.monotonic))
    known.add(Tombstone(100.0, URL, exact=True))
    assert not known.is_forgotten(Versioned(b"1", Record(URL, 10.0, 50.0)))
    known.add(Tombstone(60.0, URL, exact=True, histories=True))
    assert known.is_forgotten(Versioned(b"1", Record(URL, 10.0, 60.0)))
    assert not known.is_forgotten(Versioned(b"1", Record(URL, 10.0, 61.0)))


def test_they_are_let_go_of_after_a_day_and_when_the_clock_was_set_back():
    known = Tombstones(Faults(time.monotonic))
    known.add(Tombstone(100.0, URL, exact=True))
    known.add(Tombstone(100.0, "*", exact=False))
    known.trim(100.0 + TOMBSTONES_KEPT_S - 1)
    assert known.is_invalidated(URL, 0.0)
    known.trim(100.0 + TOMBSTONES_KEPT_S)
    assert not known.is_invalidated(URL, 0.0)
    known.add(Tombstone(9e9, URL, exact=True))
    known.trim(1000.0)
    assert not known.is_invalidated(URL, 0.0)


class PlayedAnswer:
    """A backend that receives tombstones."""

    def __init__(self):
        self.tombstones = []
        self.removed = []

    async def add_tombstones(self, tombstones, applied):
        self.tombstones += tombstones
        return tombstones

    async def copied(self):
        yield ["http://a/", "http://b/"]

    async def remove(self, urls, tombstone):
        self.removed.append((urls, tombstone.time_s))


async def test_own_tombstones_are_pending_until_the_backend_has_them():
    known, backend = Tombstones(Faults(time.monotonic)), PlayedAnswer()
    one, many = Tombstone(100.0, URL, exact=True), Tombstone(50.0, "*.example.com", exact=False)
    known.queue(one)
    known.queue(many)
    assert (known.waiting, known.waits(URL), known.waits("http://a.example.com/")) == (2, True, True)
    await known.write(backend)
    assert (backend.tombstones, backend.removed) == ([one, many], [])
    assert (known.waiting, known.waits(URL)) == (0, False)
    assert known.is_invalidated(URL, 99.0)


async def test_of_one_url_the_latest_waits_alone():
    known, backend = Tombstones(Faults(time.monotonic)), PlayedAnswer()
    for time_s in (1.0, 3.0, 2.0):
        known.queue(Tombstone(time_s, URL, exact=True))
    forgotten = Tombstone(2.0, URL, exact=True, histories=True)
    known.queue(forgotten)
    assert (known.waiting, known.waits(URL)) == (2, True)
    await known.write(backend)
    assert backend.tombstones == [Tombstone(3.0, URL, exact=True), forgotten]


async def test_one_that_comes_while_another_is_written_waits_on():
    known, backend = Tombstones(Faults(time.monotonic)), PlayedAnswer()

    async def add_tombstones(tombstones, applied):
        known.queue(Tombstone(2.0, URL, exact=True))
        return tombstones

    backend.add_tombstones = add_tombstones
    known.queue(Tombstone(1.0, URL, exact=True))
    await known.write(backend)
    assert (known.waiting, known.waits(URL)) == (1, True)


async def test_where_too_many_wait_all_that_is_stored_is_dead(monkeypatch):
    monkeypatch.setattr(tombstones, "WAITING_URLS", 3)
    known, backend = Tombstones(Faults(time.monotonic)), PlayedAnswer()
    for i in range(5):
        known.queue(Tombstone(float(i), f"{URL}/{i}", exact=True))
    assert (known.waiting, known.waits(f"{URL}/4"), known.waits("http://x/")) == (2, True, True)
    await known.write(backend)
    assert backend.tombstones == [Tombstone(4.0, f"{URL}/4", exact=True), Tombstone(3.0, "*", exact=False)]
    assert backend.removed == [(["http://a/", "http://b/"], 3.0)]
    known.queue(Tombstone(9.0, URL, exact=True))
    await known.write(backend)
    assert len(backend.removed) == 1


def test_only_so_many_are_known(monkeypatch):
    monkeypatch.setattr(tombstones, "TOMBSTONES_AT_MOST", 2)
    known = Tombstones(Faults(time.monotonic))
    for name in "abac":
        known.add(Tombstone(10.0, f"http://{name}/", exact=True))
    assert [known.is_invalidated(f"http://{name}/", 5.0) for name in "abc"] == [True, False, True]


def test_what_was_written_up_to_a_tombstone_is_forgotten_whatever_the_clocks_say():
    forgotten = Tombstone(60.0, URL, exact=True, histories=True, number=7)
    written = [Versioned(b"1", Record(URL, 10.0, 99.0), at=at) for at in (6, 7, 8)]
    assert [forgets(forgotten, found) for found in written] == [True, True, False]


def test_one_of_our_own_is_known_by_its_number():
    known = Tombstones(Faults(time.monotonic))
    for time_s, pattern, exact, number in (
        (1.0, "*.example.org", False, 7), (2.0, "*.example.org", False, 9), (5.0, URL, True, 11),
    ):
        known.add(Tombstone(time_s, pattern, exact=exact, number=number))
    assert known.numbered(Tombstone(1.0, "*.example.org", exact=False)).number == 7
    assert known.numbered(Tombstone(2.0, "*.example.org", exact=False)).number == 9
    assert known.numbered(Tombstone(3.0, "*.example.org", exact=False)).number == 0
    assert known.numbered(Tombstone(5.0, URL, exact=True)).number == 11
    assert known.numbered(Tombstone(4.0, URL, exact=True)).number == 0


@pytest.mark.parametrize(
    ("applied", "found", "last", "broken"),
    [
        (0, [(3, 2)], 9, False),
        (5, [(6, 5), (8, 6)], 8, False),
        (5, [(8, 6), (6, 5), (4, 3)], 8, False),
        (5, [(6, 5), (8, 7)], 8, True),
        (5, [(6, 5)], 7, True),
        (5, [], 5, False),
        (5, [], 6, True),
        (5, [], 3, True),
    ],
    ids=["none applied yet", "in turn", "in any order", "a gap", "the last is missing", "none", "one gone", "reset"],
)
def test_a_gap_in_the_numbers_is_a_tombstone_that_was_missed(applied, found, last, broken):
    known = Tombstones(Faults(time.monotonic))
    known.applied_number = applied
    tombstones = [Tombstone(1.0, URL, exact=True, number=number, after=after) for number, after in found]
    assert known.is_broken(tombstones, last) is broken


def test_a_tombstone_is_the_same_with_the_number_that_the_backend_gave_it():
    own = Tombstone(100.0, URL, exact=True)
    assert own == Tombstone(100.0, URL, exact=True, by="a", number=7, after=6)
    assert hash(own) == hash(Tombstone(100.0, URL, exact=True, by="a", number=7, after=6))
    assert own != Tombstone(100.0, URL, exact=True, histories=True)
