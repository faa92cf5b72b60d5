"""What is known of paths and directories."""

from bestbefore.addon.proxy.exchange.sharing.neighbours import ENTRIES, Location, Neighbours

KEPT_S = 300.0
NOW_S = 1_706_300_000.0


def at(path: bytes, query: bytes = b"") -> Location:
    return Location(*map(hash, (path + b"?" + query, b"path " + path, b"directory " + path.rpartition(b"/")[0])))


PAGES = [at(b"/api/%d" % number) for number in range(5)]


def test_a_path_is_judged_by_another_query() -> None:
    known, other = Neighbours(KEPT_S), at(b"/api/0", b"other")
    known.add(PAGES[0], NOW_S)
    assert known.has(other, NOW_S + KEPT_S - 1)
    assert not known.has(other, NOW_S + KEPT_S)
    assert not known.has(other, NOW_S - 1000.0), "the clock was set back"
    assert not known.has(PAGES[1], NOW_S)
    assert not known.has(PAGES[0], NOW_S), "another variant of the same URL says little"


def test_a_directory_is_judged_by_several_other_paths() -> None:
    known = Neighbours(KEPT_S)
    for page in (*PAGES[:2], *PAGES[:2], at(b"/api/1", b"other")):
        known.add(page, NOW_S)
    assert not known.has(PAGES[4], NOW_S)
    known.add(PAGES[2], NOW_S)
    assert known.has(PAGES[4], NOW_S)
    assert not known.has(PAGES[2], NOW_S)
    assert not known.has(at(b"/other/1"), NOW_S)
    known.add(PAGES[3], NOW_S)
    assert known.has(PAGES[2], NOW_S)


def test_a_directory_is_not_judged_by_paths_long_ago() -> None:
    known = Neighbours(KEPT_S)
    for number, page in enumerate(PAGES[:3]):
        known.add(page, NOW_S + number * KEPT_S)
    assert not known.has(PAGES[4], NOW_S + 2 * KEPT_S)


def test_one_response_that_could_be_shared_ends_the_judgement_for_a_while() -> None:
    known = Neighbours(KEPT_S)
    for page in PAGES[:3]:
        known.add(page, NOW_S)
    known.discard(at(b"/api/1", b"other"), NOW_S)
    assert not known.has(at(b"/api/1", b"third"), NOW_S)
    assert not known.has(PAGES[4], NOW_S)
    assert known.has(at(b"/api/0", b"other"), NOW_S), "its own path says more than the directory"
    for page in PAGES[:3]:
        known.add(page, NOW_S + KEPT_S - 1)
    assert not known.has(PAGES[4], NOW_S + KEPT_S - 1)
    assert known.has(PAGES[4], NOW_S + KEPT_S)


def test_the_latest_are_remembered() -> None:
    known = Neighbours(KEPT_S)
    for number in range(ENTRIES // 2 + 1):
        known.add(at(b"%d/" % number), NOW_S)
    assert not known.has(at(b"0/", b"other"), NOW_S)
    assert known.has(at(b"1/", b"other"), NOW_S)
