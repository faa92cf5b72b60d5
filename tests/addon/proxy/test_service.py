"""What a client is told when we fail."""

from pathlib import Path

import pytest
from mitmproxy.test import tflow

from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.rfc9111.message import Request, Target


async def test_a_fault_of_ours_is_an_answer_and_not_an_endless_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service(ConfigWatch(None, {"state": str(tmp_path), "admin": "off"}), RealClock())
    await service.start()

    async def fails(*_: object) -> None:
        raise KeyError

    monkeypatch.setattr(service._exchanges, "answer", fails)
    answer = await service.answer(Request("GET", Target.parse("http://example.org/")), tflow.tclient_conn())
    assert answer.head.status == 500
    assert answer.head.fields.get("cache-status") == "bestbefore; detail=fault"
    assert "a fault in bestbefore" in caplog.text
    await service.stop()
