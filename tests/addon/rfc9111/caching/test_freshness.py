from collections.abc import Callable

import pytest

from bestbefore.addon.rfc9111.caching.freshness import Lifetime, explicit_lifetime, forbids_stale, heuristics_allowed
from bestbefore.addon.rfc9111.fields.directives import parse_cache_control
from bestbefore.addon.rfc9111.message import Fields

type MakeFields = Callable[..., Fields]

DATE_S = 1_779_827_200.0  # Tue, 26 May 2026 20:26:40 GMT


@pytest.mark.parametrize(
    ("cache_control", "expires", "lifetime"),
    [
        ("", [], None),
        ("public, no-cache", [], None),
        ("max-age=60", [], Lifetime(60, "max-age")),
        ("max-age=60, s-maxage=5", [], Lifetime(5, "s-maxage")),
        ("max-age=0, s-maxage=5", ["Tue, 26 May 2026 20:26:30 GMT"], Lifetime(5, "s-maxage")),
        ("max-age=60", ["0"], Lifetime(60, "max-age")),
        ("max-age=x", ["Tue, 26 May 2026 21:26:40 GMT"], Lifetime(0, "max-age")),
        ("", ["Tue, 26 May 2026 21:26:40 GMT"], Lifetime(3600, "expires")),
        ("", ["Tuesday, 26-May-26 21:26:40 GMT"], Lifetime(3600, "expires")),
        ("", ["Tue May 26 21:26:40 2026"], Lifetime(3600, "expires")),
        ("", ["Tue, 26 May 2026 20:26:40 GMT"], Lifetime(0, "expires")),
        ("", ["Tue, 26 May 2020 20:26:40 GMT"], Lifetime(0, "expires")),
        ("", ["0"], Lifetime(0, "expires")),
        ("", [""], Lifetime(0, "expires")),
        ("", ["Thu, 18 Aug 2050 02:01:18 UTC"], Lifetime(0, "expires")),
        ("", ["0", "Tue, 26 May 2026 21:26:40 GMT"], Lifetime(0, "expires")),
    ],
)
def test_the_lifetime_is_the_first_of_s_maxage_max_age_and_expires(
    cache_control: str, expires: list[str], lifetime: Lifetime | None
) -> None:
    fields = Fields(("Expires", value) for value in expires)
    assert explicit_lifetime(parse_cache_control([cache_control]), fields, DATE_S, DATE_S) == lifetime


def test_heuristics_need_a_status_defined_so_or_public() -> None:
    without, public = parse_cache_control([]), parse_cache_control(["public"])
    allowed = {status for status in range(100, 600) if heuristics_allowed(status, without)}
    assert allowed | {206} == {200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501}  # RFC 9110 15.1
    assert all(heuristics_allowed(status, public) for status in range(200, 600))


@pytest.mark.parametrize("directive", ["no-cache", "must-revalidate", "proxy-revalidate", "s-maxage=60", "s-maxage=x"])
def test_some_directives_forbid_to_serve_stale(directive: str) -> None:
    assert forbids_stale(parse_cache_control([f"max-age=60, stale-while-revalidate=60, {directive}"]))
    assert not forbids_stale(parse_cache_control(['max-age=60, no-cache="a"']))


def test_a_lifetime_without_date_counts_from_receipt(fields: MakeFields) -> None:
    expires = fields("Expires: Tue, 26 May 2026 20:26:50 GMT")
    assert explicit_lifetime(parse_cache_control([]), expires, DATE_S, DATE_S) == Lifetime(10, "expires")
