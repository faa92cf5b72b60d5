import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.fields.entity_tags import EntityTag, etag_field, parse_entity_tag, parse_entity_tags
from bestbefore.addon.rfc9111.message import Fields


@pytest.mark.parametrize(
    ("first", "second", "strong", "weak"),
    [  # RFC 9110 8.8.3.2
        ('W/"1"', 'W/"1"', False, True),
        ('W/"1"', 'W/"2"', False, False),
        ('W/"1"', '"1"', False, True),
        ('"1"', '"1"', True, True),
        ('"1"', '"2"', False, False),
    ],
)
def test_tags_compare_as_in_the_table_of_rfc_9110(first: str, second: str, strong: bool, weak: bool) -> None:
    one, other = parse_entity_tag(first), parse_entity_tag(second)
    assert one is not None
    assert other is not None
    assert one.strongly_equals(other) is other.strongly_equals(one) is strong
    assert one.weakly_equals(other) is other.weakly_equals(one) is weak


@pytest.mark.parametrize("text", ['"xyzzy"', 'W/"xyzzy"', '""', '"a,b"', '"\xfc"', "\"'\\\""])
def test_a_tag_is_written_as_it_was_read(text: str) -> None:
    assert str(parse_entity_tag(text)) == text


@pytest.mark.parametrize(
    "text", ["", "abc", 'w/"a"', 'W"a"', 'W\\"a"', '"a', 'a"', '"a b"', '"a" "b"', '"a", "b"', "W/", "*"]
)
def test_what_is_no_tag_is_none(text: str) -> None:
    assert parse_entity_tag(text) is None


def test_the_etag_of_a_response_is_one_valid_line() -> None:
    assert etag_field(Fields([("etag", ' "a" ')])) == EntityTag('"a"')
    for lines in ([], ["a"], ['"a"', '"b"']):
        assert etag_field(Fields(("ETag", line) for line in lines)) is None


def test_a_list_may_have_empty_members_and_tags_with_commas() -> None:
    a, b = EntityTag('"a,b"'), EntityTag('"c"', weak=True)
    for value in ('"a,b", W/"c"', ' ,"a,b",, W/"c" ,', '"a,b"\t,W/"c"'):
        assert parse_entity_tags(value) == (a, b), value


@pytest.mark.parametrize("value", ["", ",", '"a", b', '"a" "b"', '"a", *', '"a"; "b"', '"a", w/"b"', '"a'])
def test_a_list_with_anything_else_in_it_is_none_at_all(value: str) -> None:
    assert parse_entity_tags(value) == ()


@given(st.text(st.sampled_from('aW/", \t*\\\x7f\xff'), max_size=40))
def test_no_text_makes_the_parsers_fail_and_what_they_find_was_there(text: str) -> None:
    for tag in parse_entity_tags(text):
        assert str(tag) in text
        assert parse_entity_tag(str(tag)) == tag
