from bestbefore.addon.workers.pauses import FIRST_S, LONGEST_S, STEADY_S, Pauses


def test_a_worker_that_ends_again_at_once_waits_longer_each_time_up_to_a_bound() -> None:
    pauses = Pauses()
    waited = [pauses.after(0.1) for _ in range(12)]
    assert waited[:3] == [FIRST_S, 2 * FIRST_S, 4 * FIRST_S]
    assert waited[-1] == LONGEST_S


def test_one_that_has_run_for_some_time_starts_at_once() -> None:
    pauses = Pauses()
    for _ in range(5):
        pauses.after(0.1)
    assert pauses.after(STEADY_S + 1) == FIRST_S
