"""The evidence of signals, on each backend."""

from bestbefore.addon.engine.signals.evidence import SignalEvidence, SignalSource

ONE, OTHER = SignalSource("example.org", "sitemap"), SignalSource("example.net", "websub")


async def test_counts_are_added_and_forgotten_by_site(store):
    counts = store.signal_counts
    assert await counts.read() == {}
    await counts.add({ONE: SignalEvidence(1.0, 2.0, 3.0), OTHER: SignalEvidence(right=1.0)})
    await counts.add({ONE: SignalEvidence(wrong=1.0)}, gone=frozenset({"example.net"}))
    assert await counts.read() == {ONE: SignalEvidence(1.0, 3.0, 3.0)}


async def test_what_another_version_wrote_is_ignored(store):
    await store.positions.put("signals", b"{}")
    assert await store.signal_counts.read() == {}
