"""Clients that refuse our certificate."""

from bestbefore.addon.proxy.tunnels.refusals import MAX_OF_ADDRESS, TUNNELLED_S, ClientKey, Refusals
from bestbefore.addon.rules import HostPattern

ONE = ClientKey("192.0.2.1", "", "a")
OTHERS = (ClientKey("192.0.2.1", "", "b"), ClientKey("192.0.2.1", "eve", "a"), ClientKey("192.0.2.2", "", "a"))
BANK = "bank.example"


def refusing(*hosts: str, client: ClientKey = ONE) -> Refusals:
    refusals = Refusals()
    for host in hosts * 2:
        refusals.refused(client, host, "why", 0.0)
    return refusals


def test_the_second_refusal_opens_a_tunnel_for_an_hour_for_that_client_and_host() -> None:
    refusals = Refusals()
    assert not refusals.refused(ONE, BANK, "why", 0.0)
    assert not refusals.tunnelled(ONE, BANK, 0.0)
    assert refusals.refused(ONE, BANK, "why", 1.0)
    assert refusals.tunnelled(ONE, BANK, 2.0)
    assert [(one.client, one.host, one.reason) for one in refusals.current(2.0)] == [(ONE, BANK, "why")]
    assert not any(refusals.tunnelled(other, BANK, 2.0) for other in OTHERS)
    assert not refusals.tunnelled(ONE, "other.example", 2.0)
    assert not refusals.tunnelled(ONE, BANK, 2.0 + TUNNELLED_S)


def test_a_third_refusal_is_not_announced_again() -> None:
    refusals = Refusals()
    assert [refusals.refused(ONE, "b", "why", 0.0) for _ in range(4)] == [False, True, False, False]


def test_the_first_accepted_certificate_lifts_all_tunnels_of_that_client() -> None:
    refusals = refusing(BANK, "b.example")
    for other in OTHERS:
        assert refusals.accepted(other, "c.example") == 0
    assert refusals.tunnelled(ONE, BANK, 1.0)
    version = refusals.version
    assert refusals.accepted(ONE, "c.example") == 2
    assert refusals.version != version
    assert not refusals.tunnelled(ONE, BANK, 1.0)


def test_later_ones_say_nothing_of_other_hosts() -> None:
    refusals = Refusals()
    assert refusals.accepted(ONE, "c.example") == 0
    for _ in range(2):
        refusals.refused(ONE, BANK, "why", 0.0)
    assert refusals.accepted(ONE, "c.example") == 0
    assert refusals.tunnelled(ONE, BANK, 1.0)
    assert refusals.accepted(ONE, BANK) == 1


def test_tunnels_are_lifted_by_host_and_address() -> None:
    refusals = refusing(BANK, "www.bank.example")
    assert refusals.lift(HostPattern.parse("*.bank.example"), "192.0.2.9") == 0
    assert refusals.lift(HostPattern.parse("*.bank.example"), "192.0.2.1") == 1
    assert refusals.lift(HostPattern.parse("*"), None) == 1


def test_an_address_takes_no_room_from_others() -> None:
    refusals = refusing(BANK)
    for number in range(2 * MAX_OF_ADDRESS):
        refusals.refused(OTHERS[2], f"{number}.example", "why", 0.0)
    assert refusals.tunnelled(ONE, BANK, 1.0)
    assert len(refusals._of_address["192.0.2.2"]) == MAX_OF_ADDRESS


def test_workers_that_pass_on_what_they_find_decide_alike() -> None:
    one, other, passed = Refusals(), Refusals(), list[object]()
    for first, second in ((one, other), (other, one)):
        first._pass_on = lambda announcement, to=second: (passed.append(announcement), to.receive(announcement))
    one.refused(ONE, BANK, "why", 0.0)
    assert other.refused(ONE, BANK, "why", 1.0), "the second refusal of the client, though the first here"
    assert one.tunnelled(ONE, BANK, 2.0)
    assert one.accepted(ONE, "c.example") == 1
    assert not other.tunnelled(ONE, BANK, 3.0)
    before = len(passed)
    for _ in range(3):
        assert one.accepted(ONE, "d.example") == other.accepted(ONE, "c.example") == 0
    assert len(passed) == before, "what all know is not passed on"
    for client in OTHERS * 2:
        one.refused(client, BANK, "why", 4.0)
    assert other.lift(HostPattern.parse("*"), None) == len(OTHERS)
    assert list(one.current(5.0)) == []
