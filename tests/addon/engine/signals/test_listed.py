"""What a reading of a sitemap says that the one before did not."""

import numpy as np

from bestbefore.addon.engine.signals.listed import FIRST_NEWS_S, NEWS_AT_MOST, ListedPages, says_changed
from bestbefore.addon.feeds.sitemap import ListedPage

T_S = 1e9


def at(url: str, time_s: float) -> ListedPage:
    return ListedPage(url, time_s, time_s)


def test_pages_are_found_by_their_url() -> None:
    pages = ListedPages.of([at("a", 1.0), at("b", 2.0), at("a", 3.0)])
    assert (len(pages), pages.by("a"), pages.by("b"), pages.by("c")) == (2, 3.0, 2.0, None)
    assert ListedPages.of([]).by("a") is None
    assert np.all(np.diff(pages.keys) > 0)


def test_what_has_moved_since_the_reading_before_is_news() -> None:
    first = [at("a", T_S - 50), at("b", T_S - 40)]
    second = [at("a", T_S - 50), at("b", T_S - 10), at("c", T_S - 5)]
    assert ListedPages.of(second).news(ListedPages.of(first), second, T_S) == [at("c", T_S - 5), at("b", T_S - 10)]


def test_at_the_first_reading_only_recent_changes_are_news() -> None:
    today = ListedPage("t", T_S - 9, T_S + 9)
    entries = [at("old", T_S - FIRST_NEWS_S - 1), at("new", T_S - 60), at("to come", T_S + 1), today]
    pages = ListedPages.of(entries)
    assert [entry.url for entry in pages.news(None, entries, T_S)] == ["t", "new"]
    many = [at(str(n), T_S - n) for n in range(1, NEWS_AT_MOST + 10)]
    assert ListedPages.of(many).news(None, many, T_S) == many[:NEWS_AT_MOST]


def test_a_time_after_the_contact_says_that_a_page_has_changed() -> None:
    assert says_changed(at("a", 11.0), 10.0, moved=False)
    assert not says_changed(at("a", 9.0), 10.0, moved=True)


def test_the_day_of_the_contact_says_so_only_if_it_is_new() -> None:
    day = ListedPage("a", 5.0, 15.0)
    assert [says_changed(day, 10.0, moved=moved) for moved in (False, True)] == [False, True]
    assert says_changed(day, 4.0, moved=False)
