from bestbefore.addon.store.counts.copy_counts import CopyCounts, joined
from bestbefore.policies.models import demand
from bestbefore.policies.models.demand import first_request

ONE, TWO = first_request(10.0), first_request(20.0)


def test_predictions_since_the_same_contact_are_added() -> None:
    found = joined(CopyCounts(ONE, 5.0, 30), CopyCounts(TWO, 5.0, 12))
    assert found == CopyCounts(demand.joined(ONE, TWO), 5.0, 42)
    assert found.predicted_since(5.0) == 42
    assert found.predicted_since(6.0) == 0


def test_predictions_from_before_the_later_contact_are_dropped() -> None:
    before, after = CopyCounts(ONE, 5.0, 30), CopyCounts(TWO, 15.0, 12)
    assert joined(before, after)[1:] == joined(after, before)[1:] == (15.0, 12)
    assert joined(before, CopyCounts(TWO))[1:] == (5.0, 30), "a contact alone predicts nothing"
