import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.domain import registrable_domain


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("www.example.co.uk", "example.co.uk"),
        ("example.org", "example.org"),
        ("a.b.c.Example.ORG.", "example.org"),
        ("alice.github.io", "alice.github.io"),
        ("www.city.kawasaki.jp", "city.kawasaki.jp"),
        ("a.b.unknown-tld", "b.unknown-tld"),
        ("LOCALHOST.", "localhost"),
        ("192.0.2.1.", "192.0.2.1"),
        ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
    ],
)
def test_a_host_belongs_to_the_label_before_its_public_suffix(host: str, expected: str) -> None:
    assert registrable_domain(host) == expected


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "localhost", "co.uk", "a..b.org", ""])
def test_what_has_no_registrable_domain_is_its_own(host: str) -> None:
    assert registrable_domain(host) == host


@given(st.text(max_size=40))
@settings(max_examples=200, derandomize=True)
def test_any_text_is_answered_and_the_answer_is_its_own_domain(host: str) -> None:
    domain = registrable_domain(host)
    assert registrable_domain(domain) == domain
