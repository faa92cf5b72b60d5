"""Due jobs that wait, by domain."""

from bestbefore.addon.prefetcher.due_jobs import DueJobs, Job


def job(url: str, due_s: float = 0.0) -> Job:
    return Job(url, due_s, 0.0)


def test_each_domain_has_its_jobs_in_the_order_in_which_they_came() -> None:
    waiting = DueJobs()
    for domain, url in (("a.org", "1"), ("b.org", "2"), ("a.org", "3")):
        waiting.put(domain, job(url))
    assert (len(waiting), waiting.number("a.org"), waiting.number("c.org")) == (3, 2, 0)
    assert [waiting.take("a.org").url, waiting.take("a.org").url] == ["1", "3"]
    assert (len(waiting), list(waiting.domains())) == (1, ["b.org"])


def test_the_domain_that_has_waited_longest_is_first() -> None:
    waiting = DueJobs()
    for domain, url in (("a.org", "1"), ("a.org", "2"), ("b.org", "3")):
        waiting.put(domain, job(url))
    assert next(waiting.domains()) == "a.org"
    waiting.take("a.org")
    assert next(waiting.domains()) == "b.org"


def test_a_later_job_of_an_object_replaces_the_earlier_one() -> None:
    waiting = DueJobs()
    waiting.put("a.org", job("1", 5.0))
    waiting.put("a.org", job("1", 7.0))
    assert len(waiting) == 1
    assert waiting.take("a.org").due_s == 7.0
    assert len(waiting) == 0
