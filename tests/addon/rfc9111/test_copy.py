from collections.abc import Callable
from dataclasses import fields, replace

import pytest

from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.entity_tags import EntityTag

type MakeCopy = Callable[..., Copy]

RECEIVED_S = 1_779_827_200.0


def test_what_hits_ask_for_is_parsed_once_and_follows_the_head(stored: MakeCopy) -> None:
    copy = stored(
        "Cache-Control: max-age=60", 'ETag: W/"a"', "Last-Modified: Tue, 26 May 2026 19:26:40 GMT", "Set-Cookie: a=b"
    )
    assert copy.cache_control.max_age == 60
    assert copy.http_expiry_s == RECEIVED_S + 60
    assert copy.etag == EntityTag('"a"', weak=True)
    assert copy.last_modified_s == RECEIVED_S - 3600
    assert copy.sets_cookie
    bare = replace(copy, head=stored("Cache-Control: no-cache").head)
    assert (bare.cache_control.no_cache, bare.etag, bare.last_modified_s, bare.sets_cookie) == (True, None, None, False)
    assert bare.lifetime is None
    assert bare.http_expiry_s is None
    assert not bare.has_validator


@pytest.mark.parametrize(
    ("lines", "validator"),
    [
        (['ETag: "a"'], True),
        (["ETag: a"], False),
        (['ETag: "a"', 'ETag: "b"'], False),
        (["Last-Modified: Tue, 26 May 2026 19:26:40 GMT"], True),
        (["Last-Modified: yesterday"], False),
    ],
)
def test_only_a_valid_tag_or_date_is_a_validator(stored: MakeCopy, lines: list[str], validator: bool) -> None:
    assert stored("Cache-Control: max-age=60", *lines).has_validator is validator


def test_age_grows_with_time_and_never_falls_below_the_initial_age(stored: MakeCopy) -> None:
    copy = stored("Cache-Control: max-age=60", "Age: 30")
    assert copy.age_s(RECEIVED_S + 5) == 35
    assert copy.age_s(RECEIVED_S - 10**6) == 30


@pytest.mark.parametrize(("received_s", "later"), [(-1, False), (0, False), (1, True), (60, True), (60.5, False)])
def test_what_was_received_after_another_is_not_what_is_from_the_future(
    stored: MakeCopy, received_s: float, later: bool
) -> None:
    copy = stored()
    other = replace(copy, response_time_s=RECEIVED_S + received_s)
    assert other.was_received_after(copy, now_s=RECEIVED_S + 60) is later


def test_a_changed_copy_is_a_new_one_parsed_again_where_that_is_needed(stored: MakeCopy) -> None:
    copy, other = stored("Cache-Control: max-age=60"), stored('ETag: "a"', "Cache-Control: no-cache")
    changes = {field.name: getattr(other, field.name) for field in fields(Copy) if field.init}
    for name in changes:
        given = {name: changes[name], "own_etag": '"own"'} if name in ("head", "reason") else {name: changes[name]}
        changed, expected = copy.changed(**given), replace(copy, **given)
        assert [getattr(changed, each.name) for each in fields(Copy)] == [
            getattr(expected, each.name) for each in fields(Copy)
        ]
    with pytest.raises(AttributeError):
        copy.changed(none_such=1)


def test_a_verdict_is_put_on_a_copy_without_changing_anything_else(stored: MakeCopy) -> None:
    copy = stored('ETag: "a"')
    evaluated = copy.with_verdict(RECEIVED_S + 7, "indttl", "rule-1")
    assert (evaluated.expiry_s, evaluated.reason, evaluated.rule) == (RECEIVED_S + 7, "indttl", "rule-1")
    assert replace(evaluated, expiry_s=None, reason="", rule="") == copy


def test_what_follows_from_the_head_is_neither_given_nor_shown_nor_compared(stored: MakeCopy) -> None:
    derived = [field for field in fields(Copy) if not field.init]
    assert "last_modified_s" in {field.name for field in derived}
    copy, same = stored('ETag: "a"'), stored('ETag: "a"')
    for field in derived:
        object.__setattr__(same, field.name, "other")
        assert f" {field.name}=" not in repr(copy)
    assert same == copy
