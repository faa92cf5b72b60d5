from dataclasses import replace

from bestbefore.addon.store.search_index import PATHS_KEPT, URLS_BYTES, SearchIndex

URL = "http://www.example.org/a"


def declaring(copy, value):
    return replace(copy, head=replace(copy.head, fields=copy.head.fields.added(("No-Vary-Search", value))))


def test_a_copy_is_found_by_what_selects_it(copy_of):
    index = SearchIndex()
    index.add(declaring(copy_of(f"{URL}?id=1&utm=x"), 'params=("utm")'))
    assert index.find(f"{URL}?id=1&utm=y", "") == index.find(f"{URL}?id=1", "") == f"{URL}?id=1&utm=x"
    assert index.find(f"{URL}?id=1&utm=x", "") is None, "the same URL"
    others = (f"{URL}?id=2", f"{URL}/b?id=1", "http://www.example.com/a?id=1", f"{URL}?id=1&UTM=x")
    assert [index.find(url, "") for url in others] == [None] * 4
    assert index.find(f"{URL}?id=1", "another partition") is None
    index.add(declaring(copy_of(f"{URL}?id=1&utm=z"), 'params=("utm")'))
    assert index.find(f"{URL}?id=1", "") == f"{URL}?id=1&utm=z", "the latest"


def test_a_copy_without_a_declaration_is_not_indexed(copy_of):
    index = SearchIndex()
    index.add(copy_of(f"{URL}?id=1"))
    index.add(declaring(copy_of(f"{URL}?id=1"), "params=1"))
    assert index.find(URL, "") is None


def test_it_is_bounded(copy_of):
    index = SearchIndex()
    for i in range(PATHS_KEPT + 10):
        index.add(declaring(copy_of(f"{URL}{i}?utm"), "params"))
    assert [index.find(f"{URL}{i}", "") is not None for i in (0, 9, 10, PATHS_KEPT)] == [False, False, True, True]
    assert len(index._variances) == PATHS_KEPT
    index.add(declaring(copy_of(f"{URL}?id={'x' * 7000}"), "key-order"))
    assert index._urls.maxsize == URLS_BYTES
    index.add(declaring(copy_of(f"{URL}?{'x' * URLS_BYTES}"), "params"))
