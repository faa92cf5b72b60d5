import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.message import Fields, Target, host_and_path


def test_fields_compare_names_without_case_and_keep_lines_as_they_came() -> None:
    fields = Fields([("Vary", "a"), ("X", "1"), ("vary", "b")])
    assert fields.values("VARY") == ("a", "b")
    assert fields.get("Vary") == "a, b"
    assert fields.first("vary") == "a"
    assert "vAry" in fields
    assert fields.raw == (("Vary", "a"), ("X", "1"), ("vary", "b"))
    assert fields.without({"vary"}) == Fields([("X", "1")])
    assert fields.replaced("VARY", "c") == Fields([("X", "1"), ("VARY", "c")])


def test_a_field_that_is_not_there_is_none_and_not_empty() -> None:
    fields = Fields([("Empty", "")])
    assert fields.get("other") is None
    assert fields.first("other") is None
    assert fields.values("other") == ()
    assert fields.get("empty") == fields.first("empty") == ""


@pytest.mark.parametrize(
    ("url", "normalised"),
    [
        ("HTTP://Example.ORG", "http://example.org/"),
        ("http://example.org:80/a?b#c", "http://example.org/a?b"),
        ("https://user:pw@example.org:443/%7ea", "https://example.org/%7ea"),
        ("https://example.org:80/", "https://example.org:80/"),
        ("http://[2001:DB8::1]:8080?q", "http://[2001:db8::1]:8080/?q"),
    ],
)
def test_a_target_has_one_spelling_of_scheme_host_and_port_and_keeps_its_path(url: str, normalised: str) -> None:
    assert Target.parse(url).url == normalised


@pytest.mark.parametrize(
    "url", ["", "/path", "ftp://example.org/", "http://", "http://a:b/", "http://[::1", "mailto:a@b"]
)
def test_what_is_no_http_url_is_refused_by_name(url: str) -> None:
    with pytest.raises(ValueError, match="not an http or https URL"):
        Target.parse(url)


@given(st.text(max_size=60))
def test_no_text_makes_the_url_parser_fail_otherwise(text: str) -> None:
    try:
        target = Target.parse("http:" + text)
    except ValueError:
        return
    assert target.path.startswith("/")


PIECES = (*"aZ9/?#@:.[] %\t\\", "http://", "https://", "//", "\xe4", "example.org", ":80")


@given(st.lists(st.sampled_from(PIECES), max_size=8))
def test_host_and_path_are_those_of_the_target(parts: list[str]) -> None:
    for url in ("".join(parts), "http://" + "".join(parts), "http://h/" + "".join(parts)):
        try:
            target = Target.parse(url)
        except ValueError:
            with pytest.raises(ValueError, match="is not an http or https URL"):
                host_and_path(url)
        else:
            assert host_and_path(url) == (target.host, target.path)
