import math

import http_sf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.fields.cache_status import Fwd, forwarded, hit


def test_a_hit_shows_the_remaining_lifetime_and_the_reason() -> None:
    assert hit(ttl_s=30.9, detail="indttl") == "bestbefore; hit; ttl=30; detail=indttl"
    assert hit(ttl_s=-0.5, detail="stale-while-revalidate") == "bestbefore; hit; ttl=-1; detail=stale-while-revalidate"
    assert hit() == hit(ttl_s=math.nan) == "bestbefore; hit"
    assert hit(ttl_s=math.inf) == "bestbefore; hit; ttl=999999999999999"


def test_a_forwarded_request_shows_the_reason_and_the_outcome() -> None:
    assert forwarded(Fwd.URI_MISS, stored=True, ttl_s=60.0) == "bestbefore; fwd=uri-miss; ttl=60; stored"
    assert forwarded(Fwd.STALE, fwd_status=304, collapsed=True, detail="max-age") == (
        "bestbefore; fwd=stale; fwd-status=304; collapsed; detail=max-age"
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("no-lifetime", "detail=no-lifetime"),
        ("404", 'detail="404"'),
        ('say "x" \\', 'detail="say \\"x\\" \\\\"'),
        ("é\n", 'detail="??"'),
    ],
)
def test_the_detail_is_a_token_where_it_can_be_one(text: str, written: str) -> None:
    assert hit(detail=text) == f"bestbefore; hit; {written}"


@given(st.one_of(st.none(), st.floats()), st.text(max_size=10), st.sampled_from(Fwd), st.integers(100, 999))
def test_another_parser_reads_what_was_meant(ttl_s: float | None, detail: str, fwd: Fwd, status: int) -> None:
    parsed = http_sf.parse(forwarded(fwd, fwd_status=status, ttl_s=ttl_s, detail=detail).encode("ascii"), tltype="list")
    assert len(parsed) == 1
    name, parameters = parsed[0]
    assert str(name) == "bestbefore"
    assert str(parameters["fwd"]) == fwd
    assert parameters["fwd-status"] == status
    assert ("detail" in parameters) == bool(detail)
    if detail.isascii() and detail.isprintable() and detail:
        assert str(parameters["detail"]) == detail
