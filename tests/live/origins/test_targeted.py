"""CDN-Cache-Control: obeyed in front of an origin, and where it is listed; passed on in any case."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.live

type Start = Callable[..., Any]


def test_it_is_obeyed_in_front_of_an_origin_or_where_it_is_listed(
    start_proxy: Start, start_origin: Start, shared_proxy: Any, tmp_path: Path
) -> None:
    origin = start_origin({"/page": [1_000_000_000.0]})
    origin.extra = {"Cache-Control": "no-store", "CDN-Cache-Control": "max-age=600"}
    page = origin.url + "/page"
    config = tmp_path / "proxy.toml"
    config.write_text('[proxy]\ntargeted = ["CDN-Cache-Control"]\n')
    listing = start_proxy("--config", str(config), state=tmp_path / "listing")
    reverse = start_proxy("--mode", f"reverse:{origin.url}", state=tmp_path / "reverse")
    for proxy, url, obeys in ((shared_proxy, page, False), (listing, page, True), (reverse, "/page", True)):
        first, second = proxy.get(url), proxy.get(url)
        assert (first.is_hit, second.is_hit) == (False, obeys)
        assert second.fields["cdn-cache-control"] == "max-age=600"
        assert second.fields["cache-control"] == "no-store"
    origin.extra = {"Cache-Control": "max-age=600", "CDN-Cache-Control": "no-store, max-age=600"}
    assert [reverse.get("/other").is_hit for _ in range(2)] == [False, False]
