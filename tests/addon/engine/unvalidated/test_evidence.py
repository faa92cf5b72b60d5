"""Which content without a validator went to which clients."""

import pytest

from bestbefore.addon.engine.unvalidated.evidence import CLIENTS_NEEDED, ContentEvidence, Delivery, gathered


def of(
    *sent: tuple[float, str, str], lifetime_s: float = 0.0, anonymous: bool = True
) -> tuple[ContentEvidence, list[float]]:
    """The evidence after these deliveries: time, client, content; and the times of differences."""
    known: ContentEvidence | None = None
    last_body, last_s, differed = "", 0.0, []
    for t_s, client, body in sent:
        known, differs = gathered(known, body, last_body, Delivery(client, anonymous, False, lifetime_s), t_s, last_s)
        differed += [t_s] if differs else []
        last_body, last_s = body, t_s
    assert known is not None
    return known, differed


def test_the_same_content_for_several_clients_adds_up_within_the_bound() -> None:
    evidence, differed = of(*((float(n), f"client {n % 5}", "x") for n in range(20)))
    assert (evidence.repeats, evidence.since_s, differed) == (19, 0.0, [])
    assert evidence.clients == ("client 0", "client 1", "client 2")
    assert len(evidence.clients) == CLIENTS_NEEDED


def test_clients_with_credentials_do_not_count() -> None:
    assert of((0, "a", "x"), (1, "b", "x"), anonymous=False)[0].clients == ()


def test_a_background_fetch_counts_for_no_client() -> None:
    assert of((0, "", "x"), (1, "", "x"))[0].clients == ()


def test_new_content_begins_anew() -> None:
    evidence, differed = of((0, "a", "x"), (100, "b", "x"), (200, "b", "y"))
    assert (evidence.since_s, evidence.repeats, evidence.clients, differed) == (200, 0, ("b",), [])


@pytest.mark.parametrize(
    ("sent", "lifetime_s", "differs"),
    [
        ([(0, "a", "x"), (10, "b", "y")], 0.0, True),
        ([(0, "a", "x"), (100, "b", "y")], 0.0, False),  # late enough for an update
        ([(0, "a", "x"), (100, "b", "y")], 1000.0, True),
        ([(0, "a", "x"), (10, "a", "y")], 1000.0, False),  # it had both, one after the other
        ([(0, "a", "x"), (1, "b", "x"), (2, "c", "x"), (3, "b", "y")], 1000.0, False),
        ([(0, "a", "x"), (100, "b", "y"), (200, "a", "x")], 0.0, True),  # back, for another client
        ([(0, "a", "x"), (100, "b", "y"), (200, "b", "x")], 0.0, False),  # back for the same
    ],
)
def test_different_content_is_an_update_or_a_difference(
    sent: list[tuple[float, str, str]], lifetime_s: float, differs: bool
) -> None:
    assert bool(of(*sent, lifetime_s=lifetime_s)[1]) is differs
