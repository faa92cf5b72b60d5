import pytest

from bestbefore.replay.domains import domain_of


@pytest.mark.parametrize(
    ("object_", "domain"),
    [
        ("http://Example.org:8080/a", "example.org"),
        ("https://user:secret@example.org?q", "example.org"),
        ("HTTP://example.org.", "example.org"),
        ("http://[2001:db8::1]:80/x", "2001:db8::1"),
        ("[2001:db8::1]:80/x", "2001:db8::1"),
        ("2001:db8::1/x", "2001:db8::1"),
        ("example.org/b", "example.org"),
        ("example.org:80/b", "example.org"),
        ("ipr/57", "ipr"),
        ("57", "57"),
        ("/a/b", ""),
        ("", ""),
    ],
)
def test_the_domain_is_the_host_or_what_stands_before_the_first_slash(object_: str, domain: str) -> None:
    assert domain_of(object_) == domain
