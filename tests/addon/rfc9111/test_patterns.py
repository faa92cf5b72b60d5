import pytest

from bestbefore.addon.rfc9111.patterns import matches_stars


@pytest.mark.parametrize(("pattern", "text"), [("*a*", "ab"), ("*", ""), ("**", "a"), ("*a", "ba"), ("", "")])
def test_a_star_may_be_no_text_at_all(pattern: str, text: str) -> None:
    assert matches_stars(pattern, text)
