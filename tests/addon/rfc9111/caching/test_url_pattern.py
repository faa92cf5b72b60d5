import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.caching.url_pattern import LONGEST_PATH, MAX_WILDCARDS, matches
from bestbefore.addon.rfc9111.message import Target

URL = "https://example.org/js/app.js"


@pytest.mark.parametrize(
    ("pattern", "url", "matching"),
    [
        ("/js/app.js", URL, True),
        ("/js/*", URL, True),
        ("/js/*.js", URL + "?v=2", True),
        ("app*.js", URL, True),
        ("*", URL, True),
        ("https://example.org/js/*", URL, True),
        ("/css/*", URL, False),
        ("https://example.com/js/*", URL, False),
        ("//example.com/js/*", "https://example.org//example.com/js/x", False),
        ("/js/*", "https://example.com/js/app.js", False),
        ("/js/*", "http://example.org/js/app.js", False),
        ("/:folder/:file.js", URL, True),
        ("/js/:name", URL, True),
        (":name", URL, True),
        ("https://example.org/js/:name", URL, True),
        ("/:name", URL, False),
        ("/js/app.js:more", URL, False),
        ("/js/:_1/*", "https://example.org/js/1.2/app.js", True),
        ("/js/:_1/*", "https://example.org/js//app.js", False),
        *((pattern, URL, False) for pattern in ("/js/:", "/js/:1", "/js/:name*", "/js/a::b")),
        *((pattern, URL, False) for pattern in ("/js/(.*)", "/js/{app}.js", "/js/app.js?", "/js/:name+", "/js/:name?")),
        ("/" + "*" * MAX_WILDCARDS, URL, True),
        ("/" + "*" * (MAX_WILDCARDS + 1), URL, False),
        ("/js/*" + "x" * 1024, URL[:-6] + "x" * 1024, False),
        ("/js/:name", f"https://example.org/js/{'x' * LONGEST_PATH}", False),
        ("/" + ":a." * MAX_WILDCARDS + ":a", f"https://example.org/{'a.' * MAX_WILDCARDS}a", False),
    ],
)
def test_a_pattern_matches_paths_of_its_own_origin(pattern: str, url: str, matching: bool) -> None:
    assert matches(pattern, Target.parse(URL), Target.parse(url)) is matching


def test_the_folder_of_the_declaring_url_is_no_pattern() -> None:
    base = Target.parse("https://example.org/a*/:b/x")
    assert matches("*", base, Target.parse("https://example.org/a*/:b/c"))
    assert not matches("*", base, Target.parse("https://example.org/ab/:b/c"))
    assert not matches("*", base, Target.parse("https://example.org/a*/b/c"))


@given(
    st.lists(st.sampled_from(["a", "b", "/", "*", ":x", ":y"]), max_size=MAX_WILDCARDS),
    st.text(st.sampled_from("ab/"), max_size=12),
)
def test_it_agrees_with_the_regular_expression_of_the_pattern(pieces: list[str], path: str) -> None:
    pattern = "/" + re.sub(r"(:[xy])(?=[ab*])", r"\1.", "".join(pieces))  # else the name goes on, or is repeated
    tokens = re.findall(r":[xy]|.", pattern)
    expression = "".join({"*": ".*", ":": "[^/]+"}.get(token[0], re.escape(token)) for token in tokens)
    if pattern.startswith("//"):
        return
    for text in (path, path.replace("a", "a.")):
        expected = re.fullmatch(expression, f"/{text}") is not None
        assert matches(pattern, Target.parse(URL), Target.parse(f"https://example.org/{text}")) is expected


@given(st.text(max_size=30))
def test_no_pattern_makes_it_fail(pattern: str) -> None:
    matches(pattern, Target.parse(URL), Target.parse(URL))
