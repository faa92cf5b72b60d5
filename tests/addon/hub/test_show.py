"""The state of a channel as text."""

from bestbefore.addon.hub.show import channel_text

REPORT = {
    "time_s": 1_706_300_000.0, "announced_until_s": 1_706_299_990.0, "scheduler": "rq", "bandwidth": 32_768,
    "objects": 2,
    "waiting": 1, "waiting_bytes": 100, "client_freshness": 0.75, "data_freshness": 0.5,
    "subscribers": [
        {"name": "edge\x1b[2J", "kind": "subscriber", "patterns": {"a.example/*": 2}, "objects": 2, "waiting": 1,
         "waiting_bytes": 100},
    ],
    "subscribed": ["edge\x1b[2J"],
}  # fmt: skip


def test_a_site_is_some_lines_without_control_characters() -> None:
    text = channel_text({"all": REPORT, "ship": {"subscribed": []}})
    assert text.isascii()
    assert "\x1b" not in text
    assert "by rq, 33kB a second" in text
    assert "announced   all changes known 10s before" in text
    assert "a.example/* (2)" in text
    assert text.endswith("site ship: no hub has published in the last minute; subscribed: no edge\n")


def test_the_report_of_another_version_is_said_to_be_unreadable() -> None:
    older = {name: value for name, value in REPORT.items() if name != "announced_until_s"}
    text = channel_text({"all": older, "ship": REPORT | {"subscribers": [{}]}, "school": REPORT})
    assert "site all: its hub has another version, whose report cannot be read\nsite ship at" in text
    assert "patterns, with the objects that match\nsite ship: its hub has another version" in text
    assert "a.example/* (2)" in text


def test_an_unused_channel_is_said_to_be() -> None:
    assert channel_text({}) == (
        "no edge has subscribed on this channel: one does so some seconds after its start\n"
    )


def test_who_subscribes_is_said_before_the_hub_has_reported_it() -> None:
    assert channel_text({"all": {"subscribed": ["a\x1b", "b"]}}).endswith("in the last minute; subscribed: a%1B, b\n")
    text = channel_text({"all": REPORT | {"subscribed": ["late"]}})
    assert text.splitlines()[-2:] == ["  subscribed since: late", "  has left since: edge%1B[2J"]
