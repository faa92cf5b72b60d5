"""Reads do not wait for a backend that does not answer."""

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.store.backend.interface import BusyError, UnavailableError, UnwritableError
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
    link.mark_up()
    assert (await link.read(ask), asked, link.up.is_set()) == ("answer", ["backend"], True)


@pytest.mark.parametrize("error", [UnavailableError("gone"), UnwritableError("not for you")])
async def test_a_read_that_fails_is_the_last_until_it_is_found_again(link, error, logged):
    async def ask(backend):
        raise error

    link.mark_up()
    link.work.clear()
    assert await link.read(ask) is None
    assert (link.down, link.up.is_set(), link.work.is_set()) == (True, False, True)
    assert str(error) in logged()[0]


async def test_it_is_not_away_where_no_connection_was_free(link):
    async def ask(backend):
        raise BusyError("all in use")

    link.mark_up()
    assert await link.read(ask) is None
    assert not link.down


def test_it_is_away_since_it_was_first_lost(link):
    link.mark_up()
    link.mark_down(UnavailableError("gone"))
    link._clock.advance(10)
    link.mark_down(UnavailableError("still gone"))
    assert link.down_since_s == 0.0


def test_the_reason_for_an_outage_is_also_logged_at_its_end(link):
    link.mark_up()
    assert link.last_error == ""
    link.mark_down(UnavailableError("gone"))
    link.mark_up()
    assert (link.down, link.last_error) == (False, "gone")
