import pytest

from bestbefore.policies.dissemination.audience import Audience


def test_requests_count_pages_and_clients():
    audience = Audience([3, 1])
    audience.subscribe(0, [0, 1], 0.0, held=[0, 1])
    audience.subscribe(1, [0], 0.0, held=[0])
    assert audience.requests == [0, 0]
    assert audience.changed(0, 1.0, 2)
    assert not audience.changed(0, 2.0, 2)
    assert audience.changed(0, 3.0, 0)
    assert audience.requests == [4, 0]
    audience.download(2, [0], 4.0)
    assert audience.requests == [7, 0]
    assert audience.since_s[0] == 1.0
    assert list(audience.waiting(0)) == [0, 1, 2]
    assert [audience.lacks(client, 0) for client in range(3)] == [2, 2, 3]
    assert audience.sent(0) == [2]
    assert audience.requests == [0, 0]
    assert set(audience._askers) == {0, 1}


def test_requests_count_clients_once_if_asked():
    audience = Audience([3], per_page=False)
    audience.subscribe(0, [0], 0.0, held=[0])
    audience.changed(0, 1.0, 0)
    audience.changed(0, 1.0, 1)
    audience.download(1, [0], 1.0)
    assert audience.requests == [2]


def test_a_new_subscriber_waits_for_a_first_copy_and_then_for_changes():
    audience = Audience([2])
    audience.subscribe(0, [0], 5.0)
    assert audience.requests == [2]
    audience.changed(0, 6.0, 1)
    assert audience.requests == [2]
    assert audience.first_copies(0) == {0}
    assert audience.sent(0) == []
    assert set(audience.holders(0)) == {0}
    audience.changed(0, 7.0, 1)
    assert audience.requests == [1]
    assert audience.since_s[0] == 7.0


def test_who_leaves_waits_no_more():
    audience = Audience([1])
    audience.download(0, [0], 1.0)
    audience.subscribe(1, [0], 2.0)
    audience.leave(0)
    assert audience.requests == [1]
    assert audience.since_s[0] == 2.0
    audience.leave(1)
    assert audience.requests == [0]
    assert list(audience.waiting(0)) == []


def test_a_client_enters_once_and_asks_for_something():
    audience = Audience([1])
    with pytest.raises(ValueError, match="client 7 asks for no item"):
        audience.subscribe(7, [], 0.0)
    audience.download(7, [0], 0.0)
    with pytest.raises(ValueError, match="client 7 is on the channel already"):
        audience.subscribe(7, [0], 0.0)
