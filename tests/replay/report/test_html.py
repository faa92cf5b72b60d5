from html.parser import HTMLParser

from bestbefore.replay.report.html import page
from bestbefore.replay.report.html_tables import MOST_LINES
from bestbefore.replay.report.measure import Measure
from bestbefore.replay.sweeps.grid import points_of
from bestbefore.replay.sweeps.sweep import Result

VOID = {"meta"}


class Page(HTMLParser):
    """What stands in a page: the cells of its tables, its other text, its tags with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.tables: list[list[list[str]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID and not (self.get_starttag_text() or "").endswith("/>"):
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if not (self.get_starttag_text() or "").endswith("/>") or self.open[-1] == tag:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "tr" in self.open:
            self.tables[-1][-1][-1] += f" {data}"
        self.words.append(data)


def result(spec: str, stale_hits: int, validations: int) -> Result:
    (point,) = points_of(spec)
    hits = 100 - validations
    return Result(point, {"requests": 120, "cached": 100, "hits": hits, "stale_hits": stale_hits,
                          "validations": validations})


RESULTS = [result("ttl:alpha=0.1", 1, 30), result("ttl:alpha=0.4", 9, 10), result("indhist", 9, 20),
           result("oracle", 0, 5)]


def test_the_table_has_a_line_for_each_result_and_marks_the_best() -> None:
    """The oracle is no rival, and what all have in common is shown once."""
    shown = Page(page(RESULTS, {}))
    rows = [[cell.split() for cell in row] for row in shown.tables[-1]]
    assert rows == [
        [["policy"], ["●"], ["hits"], ["stale", "hits"], ["validations"]],
        [["ttl:alpha=0.1"], ["●"], ["70", "70.0%"], ["1", "1.0%"], ["30", "30.0%"]],
        [["ttl:alpha=0.4"], ["●"], ["90", "90.0%"], ["9", "9.0%"], ["10", "10.0%"]],
        [["indhist"], [], ["80", "80.0%"], ["9", "9.0%"], ["20", "20.0%"]],
        [["oracle"], [], ["95", "95.0%"], ["0", "0.0%"], ["5", "5.0%"]],
    ]
    assert "The same for all: requests 120, cached 100." in "".join(shown.words)


def test_the_cost_of_a_stale_rate_is_reported_with_its_distance_from_the_best() -> None:
    header, *rows = Page(page(RESULTS, {})).tables[0]
    assert header == [" policy", " stale hits at most", " stale hits", " validations", " times the oracle's"]
    assert [[cell.split() for cell in row] for row in rows[2:7]] == [
        [["none", "of", "these"], ["0.5", "%"], [], [], []],
        [["ttl:alpha=0.1"], ["1", "%"], ["1", "1.0%"], ["30", "30.0%"], ["6.0"]],
        [["ttl:alpha=0.1"], ["2", "%"], ["1", "1.0%"], ["30", "30.0%"], ["6.0"]],
        [["ttl:alpha=0.1"], ["5", "%"], ["1", "1.0%"], ["30", "30.0%"], ["6.0"]],
        [["ttl:alpha=0.4"], ["10", "%"], ["9", "9.0%"], ["10", "10.0%"], ["2.0"]],
    ]


def test_without_the_oracle_there_is_no_distance_to_it() -> None:
    header, *_ = Page(page(RESULTS[:2], {})).tables[0]
    assert header == [" policy", " stale hits at most", " stale hits", " validations"]
    assert len(Page(page(RESULTS[3:], {})).tables) == 1


def test_parts_of_a_trace_have_a_table_of_their_own_part_by_part() -> None:
    """Names of parts come from logs, and may be none at all."""
    parts = [("<b>", RESULTS[0]), ("", RESULTS[0]), ("<b>", RESULTS[3]), ("", Result(RESULTS[3].point, {"cached": 0}))]
    *_, table = Page(page(RESULTS, {}, parts={"class": parts})).tables
    assert table[0] == [" class", " policy", " cached", " hits", " stale hits", " validations"]
    assert [[cell.split() for cell in row[:4]] for row in table[1:]] == [
        [["(none)"], ["ttl:alpha=0.1"], ["100"], ["70", "70.0%"]], [["(none)"], ["oracle"], ["0"], []],
        [["<b>"], ["ttl:alpha=0.1"], ["100"], ["70", "70.0%"]], [["<b>"], ["oracle"], ["100"], ["95", "95.0%"]],
    ]


def test_too_many_parts_are_left_to_the_counts() -> None:
    text = page(RESULTS, {}, parts={"domain": [("a", RESULTS[0])] * (MOST_LINES + 1)})
    assert "1,001 lines, one for each domain and policy: in counts.csv." in text
    assert len(Page(text).tables) == 2


def test_the_page_needs_nothing_from_elsewhere() -> None:
    text = page(RESULTS, {})
    assert [value for _, name, value in Page(text).attributes if name in {"src", "href", "srcset", "data"}] == []
    assert "url(" not in text
    assert "@import" not in text


def test_the_description_of_the_replay_is_escaped() -> None:
    text = page(RESULTS, {"log": "<b>a & b</b>.log", "made": "today"})
    assert "<dt>log</dt><dd>&lt;b&gt;a &amp; b&lt;/b&gt;.log</dd>" in text
    assert "today" in Page(text).words


def test_a_single_result_is_a_report_too() -> None:
    (row,) = Page(page(RESULTS[:1], {})).tables[-1][1:]
    assert len(row) == 2 + 5


def test_other_measures_have_no_shares() -> None:
    (point,) = points_of("ttl")
    text = page([Result(point, {"refreshes": 20, "mean_delay_s": 1.5})], {}, Measure("refreshes", "mean_delay_s", None))
    assert "<title>Mean delay, s against refreshes</title>" in text
    (table,) = Page(text).tables
    assert table[1] == [" ttl", " ●", " 20", " 1.5"]


def test_the_same_results_are_the_same_page() -> None:
    assert page(RESULTS, {"made": "then"}) == page(RESULTS, {"made": "then"})
