from dataclasses import replace

from bestbefore.addon.rfc9111.caching.dictionaries import DictionaryCandidate
from bestbefore.addon.rfc9111.message import Target
from bestbefore.addon.store.dictionary_index import CANDIDATES_KEPT, ORIGINS_KEPT, READ_AGAIN_S, DictionaryIndex

ORIGIN = "https://www.example.org"
TARGET = Target.parse(f"{ORIGIN}/app/2")


def allowed(copy, received_s, match="/app/*"):
    fields = copy.head.fields.added(("Use-As-Dictionary", f'match="{match}"'))
    return replace(copy, head=replace(copy.head, fields=fields), response_time_s=received_s)


def test_copies_are_found_by_the_pattern_that_their_origin_declares(copy_of):
    index = DictionaryIndex()
    index.add(allowed(copy_of(f"{ORIGIN}/app/1"), 5.0))
    index.add(allowed(copy_of("https://example.org/app/1"), 5.0))
    index.add(copy_of(f"{ORIGIN}/app/0"))
    assert index.find(TARGET) == [f"{ORIGIN}/app/1"]
    assert index.find(Target.parse(f"{ORIGIN}/other")) == index.find(Target.parse("https://a.org/app/2")) == []


def test_those_of_the_backend_are_due_at_first_and_after_a_while():
    index = DictionaryIndex()
    assert index.is_due(ORIGIN, 0.0)
    index.read(ORIGIN, [DictionaryCandidate(f"{ORIGIN}/app/1", "/app/*", 5.0)], 10.0)
    assert index.find(TARGET) == [f"{ORIGIN}/app/1"]
    assert [index.is_due(ORIGIN, 10.0 + s) for s in (READ_AGAIN_S, READ_AGAIN_S + 1)] == [False, True]
    index.read(ORIGIN, [DictionaryCandidate(f"{ORIGIN}/app/1", "/other", 4.0)], 90.0)
    assert index.find(TARGET) == [f"{ORIGIN}/app/1"], "the later is right"


def test_it_is_bounded(copy_of):
    index = DictionaryIndex()
    for n in range(CANDIDATES_KEPT + 2):
        index.add(allowed(copy_of(f"{ORIGIN}/app/{n}"), 100.0 - n))
    assert len(index.find(TARGET)) == CANDIDATES_KEPT
    assert f"{ORIGIN}/app/{CANDIDATES_KEPT + 1}" not in index.find(TARGET), "the earliest has left"
    for n in range(ORIGINS_KEPT):
        index.read(f"https://{n}.org", [], 0.0)
    assert index.is_due(ORIGIN, 0.0)
