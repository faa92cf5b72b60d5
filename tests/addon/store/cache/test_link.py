"""Reads do not wait for a backend that does not answer."""

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.store.backend.interface import AwayError, UnwritableError
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices


@pytest.fixture
def link():
    return Link("backend", ManualClock(1e9), Notices())


async def test_it_is_away_until_it_was_found(link):
    asked = []

    async def ask(backend):
        asked.append(backend)
        return "answer"

    assert (await link.read(ask), asked) == (None, [])
    link.found()
    assert (await link.read(ask), asked, link.back.is_set()) == ("answer", ["backend"], True)


@pytest.mark.parametrize("error", [AwayError("gone"), UnwritableError("not for you")])
async def test_a_read_that_fails_is_the_last_until_it_is_found_again(link, error, said):
    async def ask(backend):
        raise error

    link.found()
    link.work.clear()
    assert await link.read(ask) is None
    assert (link.away, link.back.is_set(), link.work.is_set()) == (True, False, True)
    assert str(error) in said()[0]


def test_it_is_away_since_it_was_first_lost(link):
    link.found()
    link.lost(AwayError("gone"))
    link._clock.advance(10)
    link.lost(AwayError("still gone"))
    assert link.away_since_s == 0.0


def test_why_it_was_away_is_told_when_it_is_back_too(link):
    link.found()
    assert link.last_absence == ""
    link.lost(AwayError("gone"))
    link.found()
    assert (link.away, link.last_absence) == (False, "gone")
