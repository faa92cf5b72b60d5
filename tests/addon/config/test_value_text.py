"""Values are shown in the forms in which a file has them."""

import doctest

import pytest

from bestbefore.addon.config import value_text
from bestbefore.addon.prefetch_limits import FetchRate
from bestbefore.policies.units import DAY_S


def test_the_examples_hold() -> None:
    assert doctest.testmod(value_text).failed == 0


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("hot_max", 100, "100 bytes"), ("store_max", 64 << 20, "64MiB"),
        ("connect_ports", frozenset({8443, 443}), "443, 8443"),
        ("store", "redis://me:secret@localhost/0", "redis://***@localhost/0"), ("mode", None, "forward"),
        ("connections_per_host", 4, "4"), ("bandwidth", 64 << 10, "64KiB"),
    ],
)  # fmt: skip
def test_a_value_is_shown_as_it_is_written(key: str, value: object, text: str) -> None:
    assert value_text.value_text(key, value) == text


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [("prefetch", "never", "false"), ("weight", 2.0, "2"), ("prefetch_delay", 7200.0, "2h"),
     ("prefetch_most", FetchRate(4, DAY_S), "4/day")],
)  # fmt: skip
def test_a_limit_is_shown_as_it_is_written(key: str, value: object, text: str) -> None:
    assert value_text.limit_text(key, value) == text
