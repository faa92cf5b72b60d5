from dataclasses import replace

import pytest

from bestbefore.addon.config.prefetch_section import ByteBudget
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.prefetcher.cost import HEAD_BYTES, cost_of, expected_bytes
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.wishes import FetchRate
from bestbefore.policies.units import DAY_S

URL = "http://example.org/"
NEW = Record(URL, since_s=0.0, last_contact_s=0.0)
COPY = Copy(URL, Head(200, Fields()), BodyRef("d", 1_000_000), 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(("contacts", "unchanged", "share"), [(1, 0, 1 / 2), (99, 98, 1 / 100), (9, 4, 5 / 10)])
def test_a_fetch_receives_a_head_and_if_the_object_has_changed_its_content(
    contacts: int, unchanged: int, share: float
) -> None:
    record = replace(NEW, contacts=contacts, unchanged=unchanged)
    assert expected_bytes(record, [COPY]) == pytest.approx(HEAD_BYTES + share * 1_000_000)
    assert expected_bytes(record, []) == HEAD_BYTES


def test_a_fetch_costs_one_or_its_part_of_the_bytes() -> None:
    budgets = FetchRate(100, DAY_S), ByteBudget(1_000_000, DAY_S, "")
    assert cost_of(500.0, *budgets) == 1.0
    assert cost_of(25_000.0, *budgets) == 2.5
