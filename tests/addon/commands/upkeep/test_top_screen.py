from io import StringIO
from typing import Any

from rich.console import Console

from bestbefore.addon.commands.upkeep.top_screen import Rates, plain_text, screen

COUNTS = {"requests": 90, "hits": 60, "contacts": 30, "stale": 0}
NOW: dict[str, Any] = {
    **COUNTS, "unnecessary": 7, "now_s": 1000.0, "health": {"store": "ok"}, "sent_bytes": 2e6, "received_bytes": 1e6,
    "latencies": [{"of": "with contact", "requests": 30, "median_s": 0.2, "p99_s": None}],
    "stale_shares": [{"group": "a.org", "target": 0.05, "requests": 9, "estimate": 0.04, "low": 0.01, "high": 0.1}],
    "domains": [
        {"domain": f"{name}.org", "requests": n, "hits": 90 - n, "contacts": n, "unnecessary": 0, "updates": 1,
         "saved_bytes": 10}
        for n, name in enumerate(["a", "b", "c", "d", "e", "f[bold]"])
    ],
    "top_objects": [
        {"url": "http://a.org/\x1b[31m", "requests": 3, "contacts": 1, "unchanged": 0, "updates": 0, "policy": "ttl",
         "next_check_s": 1090.0}
    ],
    "clients": [],
}  # fmt: skip


def shown(rates: Rates | None, order: str) -> str:
    console = Console(width=100, record=True, file=StringIO())
    console.print(screen(NOW, rates, order, 10))
    return console.export_text()


def test_figures_rates_and_tables_are_shown() -> None:
    text = shown(Rates.between({**NOW, "requests": 70, "hits": 45, "contacts": 25}, NOW, 2.0), "requests")
    assert "requests 90, 10/s now; hits 66.7 % (75.0 % now); contacts 30 (2.5/s now), 7 of them unnecessary" in text
    assert "sent 2MB, received 1MB; store ok; with contact: median 200ms, 99 % within ?" in text
    assert "stale hits of a.org, estimated: 4 % (1 to 10 %); wanted 5 %" in text
    rows = [line.split() for line in text.splitlines() if line.rstrip().endswith((".org", "org[bold]", "f[bold].org"))]
    assert [row[-1] for row in rows] == ["f[bold].org", "e.org", "d.org", "c.org", "b.org"], "cut, and no markup"
    assert "90s" in text
    assert "\x1b" not in text


def test_the_order_is_that_of_the_count_and_there_are_no_rates_at_first_or_after_a_new_start() -> None:
    assert shown(None, "hits").index("a.org  ") < shown(None, "hits").index("b.org  ")
    assert " now" not in shown(None, "requests")
    assert Rates.between(None, NOW, 2.0) is None
    assert Rates.between({**NOW, "requests": 91}, NOW, 2.0) is None


def test_without_a_terminal_no_line_is_cut_or_broken_or_padded() -> None:
    url = "http://a.org/" + 400 * "x"
    text = plain_text({**NOW, "top_objects": [{**NOW["top_objects"][0], "url": url}]}, "requests", 10)
    lines = text.splitlines()
    assert lines[0] == "requests 90; hits 66.7 %; contacts 30, 7 of them unnecessary; served stale 0"
    assert lines[-1].endswith(f"90s  {url}")
    assert all(line == line.rstrip() for line in lines)
    assert text.isascii()


def test_in_a_narrow_terminal_counts_give_way_to_the_names() -> None:
    console = Console(width=40, record=True, file=StringIO())
    console.print(screen({**NOW, "domains": NOW["domains"][:1]}, None, "requests", 10))
    rows = [line.split() for line in console.export_text().splitlines() if "a.org" in line]
    assert rows[1:] == [["0", "90", "a.org"], ["3", "1", "http://a.org/%1B[31m"]]
