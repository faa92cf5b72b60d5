"""What a stream keeps."""

from bestbefore.addon.hub.retained import Retained


def test_the_first_entries_go_when_they_are_too_many() -> None:
    retained = Retained(100)
    assert retained.add("1-0", 60) is None
    assert retained.add("2-0", 40) is None
    assert retained.add("3-0", 10) == "2-0"
    assert retained.add("4-0", 500) == "4-0"  # the last one stays
    assert retained.add("5-0", 1) == "5-0"
