"""When requests are still answered."""

from pathlib import Path

from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.proxy.mitm.hooks import BestBefore
from bestbefore.addon.proxy.service import Service


def test_a_service_that_is_not_ready_has_stopped_unless_a_stock_mitmproxy_is_about_to_start_it(tmp_path: Path) -> None:
    service = Service(ConfigWatch(None, {"state": str(tmp_path)}), RealClock())
    own, stock = BestBefore(service), BestBefore()
    assert own._has_stopped(service)
    assert not stock._has_stopped(service)
    service.ready = True
    assert not own._has_stopped(service)
