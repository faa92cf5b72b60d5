"""A worker has the configuration that its supervisor sends."""

from dataclasses import replace

from bestbefore.addon.config.load import load_config
from bestbefore.addon.config.watch import Refused, Reloaded
from bestbefore.addon.workers.sent_config import SentConfig


def test_what_is_sent_is_in_force_and_reported_once() -> None:
    config = load_config(None)
    sent = SentConfig(None, config)
    assert sent.poll() is None
    changed = replace(config, settings=replace(config.settings, offline=True))
    sent.sent(Reloaded(changed, ("listen",)))
    assert sent.config is changed
    assert sent.poll() == Reloaded(changed, ("listen",))
    assert sent.poll() is None
    sent.sent(Refused("why"))
    assert (sent.poll(), sent.config) == (Refused("why"), changed)
