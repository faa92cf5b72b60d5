"""Signals are judged by the next contact, changes by the next reading of the sitemap."""

from bestbefore.addon.engine.signals.evidence import SignalEvidence, SignalSource
from bestbefore.addon.proxy.signals.pending import SignalBook

SOURCE = SignalSource("example.org", "sitemap")


def test_the_next_contact_judges_a_signal_once() -> None:
    book = SignalBook()
    for changed, expected in ((True, (1, 0)), (False, (1, 1)), (None, (1, 1))):
        book.signalled("a", SOURCE, 5.0, 5.0)
        assert book.announced_s("a") == 5.0
        assert book.contacted("a", 6.0, changed=changed) == (SOURCE, changed)
        assert book.contacted("a", 7.0, changed=True) is None
        assert (book.of(SOURCE).right, book.of(SOURCE).wrong) == expected
    assert book.announced_s("a") is None


def test_the_time_of_a_signal_that_lies_is_not_used() -> None:
    book = SignalBook()
    book.load({SOURCE: SignalEvidence(wrong=50.0)})
    book.signalled("a", SOURCE, 5.0, 5.0)
    assert book.announced_s("a") is None
    assert book.contacted("a", 6.0, changed=True) == (SOURCE, True), "it is still judged"


def test_changes_wait_for_the_sitemap_that_should_announce_them() -> None:
    book = SignalBook()
    book.unannounced("a", "map", 5.0)
    book.unannounced("b", "map", 6.0)
    book.unannounced("c", "other", 7.0)
    book.signalled("b", SOURCE, None, 5.0)
    assert book.awaited("map") == [("a", 5.0)]
    assert book.awaited("map") == []
    book.recalled(SOURCE, announced=False)
    assert book.of(SOURCE).missed == 1.0


def test_only_what_was_added_since_is_written_and_added_to_the_sums_of_others() -> None:
    book = SignalBook()
    book.recalled(SOURCE, announced=True)
    assert book.take_unwritten() == {SOURCE: SignalEvidence(right=1.0, expected=1.0)}
    assert book.take_unwritten() == {}
    book.recalled(SOURCE, announced=False)
    book.load({SOURCE: SignalEvidence(right=7.0)})
    assert book.of(SOURCE) == SignalEvidence(right=7.0, missed=1.0)
    book.forget("example.org")
    assert (book.of(SOURCE), book.take_unwritten()) == (SignalEvidence(), {})
