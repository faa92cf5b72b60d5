"""What holds for every scheduler of the table."""

import pytest

from bestbefore.policies.dissemination.audience import Audience
from bestbefore.policies.dissemination.table import SCHEDULERS


@pytest.mark.parametrize("name", SCHEDULERS)
def test_sends_nothing_that_no_client_waits_for(name):
    scheduler = SCHEDULERS[name](Audience([1, 2]))
    assert scheduler.choose(0.0) is None
    scheduler.subscribe(0, [1], 0.0, held=[1])
    scheduler.changed(0, 1.0)
    assert scheduler.choose(1.0) is None
    scheduler.changed(1, 2.0)
    assert scheduler.choose(2.0) == 1
    scheduler.leave(0)
    assert scheduler.choose(3.0) is None


@pytest.mark.parametrize("name", SCHEDULERS)
def test_sends_everything_that_clients_wait_for_in_the_end(name):
    scheduler = SCHEDULERS[name](Audience([1] * 20))
    scheduler.subscribe(0, range(0, 20, 2), 0.0, held=range(0, 20, 2))
    scheduler.download(1, range(20), 0.0)
    sent = []
    for time_s in range(20):
        sent.append(scheduler.choose(float(time_s)))
        complete = scheduler.sent(sent[-1], time_s + 1.0)
    assert sorted(sent) == list(range(20))
    assert complete == [1]
    assert scheduler.choose(20.0) is None
