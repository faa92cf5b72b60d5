from dataclasses import replace

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.config.prefetch_section import ByteBudget
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.prefetch_limits import FetchRate
from bestbefore.addon.prefetcher.cost import HEAD_BYTES, FetchCosts, expected_bytes
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.candidate import Candidate, CandidateTable
from bestbefore.policies.units import DAY_S
from tests.addon.store.memory_backend import open_memory_store

URL = "http://example.org/"
NEW = Record(URL, since_s=0.0, last_contact_s=0.0)
COPY = Copy(URL, Head(200, Fields()), BodyRef("d", 1_000_000), 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(("contacts", "unchanged", "share"), [(1, 0, 1 / 2), (99, 98, 1 / 100), (9, 4, 5 / 10)])
def test_a_fetch_receives_a_head_and_if_the_object_has_changed_its_content(
    contacts: int, unchanged: int, share: float
) -> None:
    record = replace(NEW, contacts=contacts, unchanged=unchanged)
    assert expected_bytes(record, [COPY]) == pytest.approx(HEAD_BYTES + share * 1_000_000)


def test_a_fetch_costs_one_or_its_part_of_the_bytes() -> None:
    costs = FetchCosts(FetchRate(100, DAY_S), ByteBudget(1_000_000, DAY_S, ""))
    candidate = Candidate(0.5, 0.0, 4, bytes([10] * 24), 2 / 7)
    table = CandidateTable.of({
        f"{URL}{size}": candidate._replace(expected_bytes=size) for size in (500.0, 25_000.0)
    })  # fmt: skip
    assert costs.of(table).tolist() == [1.0, 2.5]
    assert FetchCosts(FetchRate(100, DAY_S), None).of(table).tolist() == [1.0, 1.0]


async def test_what_was_never_fetched_is_expected_to_be_as_large_as_others_on_average() -> None:
    store = await open_memory_store(clock=ManualClock(0.0))
    costs = FetchCosts(FetchRate(100, DAY_S), ByteBudget(1_000_000, DAY_S, ""))
    unseen = replace(NEW, url=f"{URL}unseen")
    assert await costs.expected_bytes(unseen, store) == HEAD_BYTES
    for i, size in enumerate((10_000, 30_000)):
        copy = replace(COPY, url=f"{URL}{i}", body=BodyRef(f"{i}", size))
        store.put(copy, None)
        assert await costs.expected_bytes(replace(NEW, url=copy.url), store) == HEAD_BYTES + size / 2
    assert await costs.expected_bytes(unseen, store) == HEAD_BYTES + 20_000
    assert await FetchCosts(costs.budget, None).expected_bytes(unseen, store) == 0.0
    await store.close()
