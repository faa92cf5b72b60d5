from bestbefore.addon.admin.counts.failing_origins import HOSTS_KEPT, FailingOrigins, OriginFailure
from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.summary import Summary
from bestbefore.addon.engine.outcome import Outcome


def answered(time_s: float, outcome: Outcome = Outcome.MISS, reason: str = "", host: str = "a.test:81") -> Answered:
    return Answered(time_s, "c", "GET", f"http://{host}/x", outcome=outcome, reason=reason, contact=True)


def failed(at_s: float, host: str = "a.test:81") -> Answered:
    return answered(at_s, Outcome.REFUSED, "origin-timeout", host)


def test_an_origin_is_down_from_its_first_failure_to_its_next_answer() -> None:
    summary = Summary(0.0)
    summary.add(answered(1.0), failed(2.0), answered(3.0, Outcome.STALE, "stale-if-error"))
    assert summary.total.origins.failures == {"a.test:81": OriginFailure(2.0, 3.0, 2, "stale-if-error")}
    summary.add(answered(4.0, Outcome.REFUSED, "not-allowed", "b.test"), answered(5.0, Outcome.VALIDATED, "ttl"))
    assert summary.total.origins.failures == {}


def test_what_several_processes_saw_is_merged_by_time() -> None:
    one, other, both = Summary(0.0), Summary(0.0), Summary(0.0)
    one.add(failed(2.0), failed(5.0, "b.test"))
    other.add(failed(1.0), answered(4.0, host="b.test"))
    for process in (one, other):
        both.merge(process.take())
    assert both.total.origins.failures == {
        "a.test:81": OriginFailure(1.0, 2.0, 2, "origin-timeout"),
        "b.test": OriginFailure(5.0, 5.0, 1, "origin-timeout"),
    }
    other.add(answered(6.0, host="b.test"))
    both.merge(other.take())
    assert list(both.total.origins.failures) == ["a.test:81"]


def test_hosts_are_bounded() -> None:
    origins = FailingOrigins()
    for number in range(HOSTS_KEPT + 5):
        origins.add(failed(float(number)), f"{number}.test")
    assert len(origins.failures) == HOSTS_KEPT
    assert "4.test" not in origins.failures
