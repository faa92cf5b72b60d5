"""What one worker has read of a channel holds at the others, after they have left what it has changed."""

import pickle
from typing import Any

from bestbefore.addon.engine.channel.coverage import Coverage
from bestbefore.addon.proxy.channel_coverage import ChannelCoverage, Covered

COVERAGE = Coverage("hub/all", 7, 1000.0)


def test_changed_copies_are_read_again_before_they_are_taken_for_current() -> None:
    done, passed = list[Any](), list[bytes]()
    reader = ChannelCoverage(lambda news: passed.append(pickle.dumps(news)))
    other = ChannelCoverage()
    other.start(done.append, done.append)
    reader.cover(COVERAGE)
    assert not passed, "not before the changed copies are in the store"
    reader.pass_on(("http://example.org/", None))
    other.receive(pickle.loads(passed[0]))
    assert done == [None, "http://example.org/", None, COVERAGE]
    assert other._coverage == COVERAGE


def test_what_was_received_before_the_start_is_applied_then() -> None:
    done, other = list[Any](), ChannelCoverage()
    other.receive(Covered(COVERAGE))
    other.start(done.append, done.append)
    assert done == [COVERAGE]
