"""Names that are distinguished, and how many items are looked at."""

from bestbefore.addon.feeds.document import MAX_ITEMS, Document, Item, digest, with_distinct_names


def test_items_that_share_an_identifier_are_distinguished_by_their_words() -> None:
    items = [Item("id", 1.0, 1), Item("id", 2.0, 2), Item("other", 3.0, 3)]
    assert [item.name for item in with_distinct_names(items, ["a", "b", "c"])] == ["id\na", "id\nb", "other"]


def test_an_item_that_occurs_twice_counts_once() -> None:
    assert len(with_distinct_names([Item("id", 1.0, 1), Item("id", 1.0, 1)], ["a", "a"])) == 1


def test_of_too_many_items_the_latest_are_looked_at_in_their_order() -> None:
    items = tuple(Item(str(n), float(n), n) for n in range(MAX_ITEMS + 5))
    assert Document("rss", items).latest == items[5:]


def test_items_without_time_come_after_those_that_have_one() -> None:
    undated = tuple(Item(f"u{n}", None, n) for n in range(MAX_ITEMS))
    dated = Item("dated", -5.0, 0)
    latest = Document("rss", (*undated, dated)).latest
    assert latest == (*undated[:-1], dated)


def test_a_digest_takes_any_text_and_fits_into_63_bits() -> None:
    assert 0 <= digest("\ud800") < 1 << 63
    assert digest("a") == digest(b"a") != digest("b")
