import http_sf
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.fields.cache_groups import LONGEST, MAX_GROUPS, groups_named, is_group
from bestbefore.addon.rfc9111.message import Fields

TARGET = "https://Example.org:8443/a?b"


def groups(*values: str) -> list[str]:
    lines = Fields(("Cache-Groups", value) for value in values)
    return [key.rpartition('"@')[0][1:] for key in groups_named(lines, "cache-groups", TARGET)]


def test_the_groups_of_all_lines_are_named_within_their_origin() -> None:
    lines = Fields([("Cache-Groups", '"scripts", "Scripts";a=1'), ("cache-groups", '"scripts"')])
    names = groups_named(lines, "cache-groups", TARGET)
    assert names == ('"scripts"@https://example.org:8443', '"Scripts"@https://example.org:8443')
    assert all(map(is_group, names))
    for other in ("http://example.org:8443/", "https://example.org/", "https://www.example.org:8443/"):
        assert not set(names) & set(groups_named(lines, "cache-groups", other))
    assert groups_named(lines, "cache-groups", "object 17") == ()


def test_a_field_that_is_no_list_of_strings_is_ignored() -> None:
    for value in ("scripts", '"a", b', '"a", 1', '"a", ("b")', '"a', "", '"a" "b"', '"\u00e9"', "a=1"):
        assert groups(value) == []
    assert groups_named(Fields(), "cache-groups", TARGET) == ()


def test_as_many_and_as_long_names_as_the_rfc_demands_are_taken_and_not_without_bound() -> None:
    names = [f"{i:03}".ljust(32, "x") for i in range(MAX_GROUPS + 5)]
    assert groups(", ".join(f'"{name}"' for name in names)) == names[:MAX_GROUPS]
    assert groups(f'"{"x" * LONGEST}", "{"x" * (LONGEST + 1)}"') == ["x" * LONGEST]
    assert groups('"x", ' * 100_000 + '"x"') == []


@given(st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=LONGEST), max_size=20))
def test_any_list_of_strings_is_read_as_written(names: list[str]) -> None:
    assert groups(http_sf.ser([(name, {}) for name in names]) if names else "") == list(dict.fromkeys(names))


@given(st.text(st.characters(max_codepoint=255), max_size=60))
def test_no_value_makes_it_fail(value: str) -> None:
    assert len(groups(value)) <= MAX_GROUPS
