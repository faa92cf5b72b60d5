from bestbefore.replay.report.count_tables import tables


def test_a_table_of_the_whole_and_one_for_each_way_of_parting_it() -> None:
    lines = [
        (["ttl"], {"hits": 12345, "mean_delay_s": 0.5}),
        (["ttl"], {"domain": "example.org", "hits": 12000, "mean_delay_s": 1234.56}),
        (["ttl"], {"domain": "", "hits": 345, "mean_delay_s": None}),
        (["ttl"], {"class": "x", "hits": 12345, "mean_delay_s": 0.5}),
        (["indttl"], {"hits": 0, "mean_delay_s": None}),
    ]
    assert tables(["policy"], lines, ["domain", "class"]).split("\n") == [
        "policy    hits  mean delay s",
        "ttl     12,345           0.5",
        "indttl       0             -",
        "",
        "policy  domain         hits  mean delay s",
        "ttl     example.org  12,000       1,234.6",
        "ttl     (none)          345             -",
        "",
        "policy  class    hits  mean delay s",
        "ttl     x      12,345           0.5",
    ]


def test_a_line_may_begin_with_several_words() -> None:
    lines = [(["ttl", "complete"], {"hits": 1}), (["ttl", "observed"], {"hits": 2})]
    assert tables(["policy", "history"], lines, []).split("\n") == [
        "policy  history   hits",
        "ttl     complete     1",
        "ttl     observed     2",
    ]


def test_names_of_parts_keep_to_one_line_of_a_terminal_and_are_shortened() -> None:
    rows = [(["ttl"], {"domain": name, "hits": 1}) for name in ("a\nb\x1b[2J", "x" * 200, "é")]
    _, *lines = tables(["policy"], rows, ["domain"]).split("\n")
    assert [line.split()[1:] for line in lines] == [
        [r'"a\nb\u001b[2J"', "1"], ['"' + "x" * 76 + "...", "1"], ["é", "1"]
    ]
