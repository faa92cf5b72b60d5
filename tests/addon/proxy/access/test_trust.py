"""What is believed."""

from pathlib import Path

from bestbefore.addon.config.settings import Server, Settings
from bestbefore.addon.proxy.access.trust import targeted, trust


def test_our_own_proxy_verifies_by_the_roots_of_the_system() -> None:
    assert trust(stock=False) == (True, None)


def test_in_front_of_an_origin_its_caches_are_meant() -> None:
    settings = Settings(state=Path(), targeted=("example-cache-control",))
    reverse = Settings(state=Path(), targeted=settings.targeted, mode=Server("http", "origin", 80))
    assert targeted(settings) == ("example-cache-control",)
    assert targeted(reverse) == ("example-cache-control", "cdn-cache-control")
