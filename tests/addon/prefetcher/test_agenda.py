"""Which job is next."""

from bestbefore.addon.prefetcher.agenda import Agenda
from bestbefore.addon.store.plan import Job


def job(url: str, due_s: float, gain: float = 1.0) -> Job:
    return Job(url, due_s, gain, 1.0, 1.0, 1.0)


def agenda(*jobs: Job) -> Agenda:
    made = Agenda(lambda url: url[0])
    made.load(jobs)
    return made


def test_jobs_become_due_in_the_order_of_their_times() -> None:
    some = agenda(job("a1", 30.0), job("b1", 10.0), job("a2", 20.0))
    assert some.next_due_s == 10.0
    assert some.collect(20.0) == 0
    assert (some.waiting, some.next_due_s) == (2, 30.0)
    assert list(some.domains()) == ["b", "a"]


def test_of_a_domain_the_most_valuable_is_next_and_domains_come_by_their_best() -> None:
    some = agenda(job("a1", 1.0, 2.0), job("a2", 2.0, 5.0), job("b1", 3.0, 9.0))
    some.collect(10.0)
    assert list(some.domains()) == ["b", "a"]
    assert [some.take("a").url for _ in range(2)] == ["a2", "a1"]
    assert list(some.domains()) == ["b"]


def test_what_was_not_done_when_the_next_is_due_is_dropped() -> None:
    some = agenda(job("a1", 1.0), job("a1", 2.0), job("a1", 3.0), job("a2", 1.0))
    assert some.collect(2.5) == 1
    assert some.collect(3.5) == 1
    assert {some.take("a").url for _ in range(2)} == {"a1", "a2"}
    assert some.waiting == 0
    assert some.next_due_s is None


def test_what_is_put_back_does_not_take_the_place_of_a_later_one() -> None:
    some = agenda(job("a1", 1.0), job("a1", 2.0))
    some.collect(1.0)
    early = some.take("a")
    some.collect(2.0)
    assert some.put(early)
    assert some.take("a").due_s == 2.0


def test_of_two_for_one_moment_the_first_stays() -> None:
    some = agenda()
    assert [some.put(job("a1", 1.0, gain)) for gain in (1.0, 2.0)] == [False, True]
    assert some.take("a").gain == 1.0


def test_another_plan_replaces_all() -> None:
    some = agenda(job("a1", 1.0), job("a2", 9.0))
    some.collect(5.0)
    some.load([job("b1", 7.0)])
    assert (some.waiting, some.next_due_s, list(some.domains())) == (0, 7.0, [])
