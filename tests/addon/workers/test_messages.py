"""Messages between a supervisor and its workers."""

import socket
from pathlib import Path

from bestbefore.addon.clock import FastClock
from bestbefore.addon.config.load import load_config
from bestbefore.addon.proxy.place import WorkerPlace
from bestbefore.addon.workers.messages import AskReport, Begin, Born, WorkerChannel


async def test_messages_arrive_in_order_until_the_other_process_ends(tmp_path: Path) -> None:
    file = tmp_path / "proxy.toml"
    file.write_text('[proxy]\nworkers = 3\n[[domain]]\nmatch = "example.org"\npolicy = "ttl"\n')
    ours, theirs = [await WorkerChannel.open(end) for end in socket.socketpair()]
    clock = FastClock(5.0, 10.0)
    begin = Begin(WorkerPlace(number=2, workers=3), load_config(file), file, clock, log_requests=True)
    for message in (begin, AskReport()):
        ours.send(message)
    received = await theirs.receive()
    assert isinstance(received, Begin)
    assert (received.place, received.config) == (begin.place, begin.config)
    assert received.config.rules.rule_for("example.org", "/").policy.name == "ttl"
    assert abs(received.clock.now() - clock.now()) < 50, "they have one policy time"
    assert await theirs.receive() == AskReport()
    theirs.send(Born(1))
    assert await ours.receive() == Born(1)
    await ours.close()
    assert await theirs.receive() is None
    theirs.send(AskReport())  # is lost
    await theirs.close()
