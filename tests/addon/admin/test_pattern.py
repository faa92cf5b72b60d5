from bestbefore.addon.admin.pattern import HEIGHT, pattern_plot


def test_the_highest_hour_fills_the_plot_and_names_its_scale() -> None:
    lines = list(pattern_plot([0.0] * 13 + [2.5] + [0.0] * 10))
    assert len(lines) == HEIGHT + 2
    assert lines[0] == "   2.5/h |" + " " * 26 + "##"
    assert {line.strip(" |") for line in lines[:HEIGHT]} == {"2.5/h |" + " " * 26 + "##", "##"}


def test_a_low_rate_is_named_in_a_unit_that_people_read() -> None:
    scales = [next(pattern_plot([rate] * 24)).split()[0] for rate in (1.0, 0.05, 0.001)]
    assert scales == ["1/h", "1.2/day", "0.17/week"]


def test_hours_are_below_their_columns() -> None:
    *_, axis, hours = pattern_plot([1.0] * 24)
    assert axis.index("+") == hours.index("00") - 1
    assert hours.index("18") - hours.index("00") == 2 * 18


def test_columns_are_rounded_to_lines_and_what_is_less_than_half_a_line_is_a_dot() -> None:
    lines = list(pattern_plot([6.0, 3.4, 3.5, 0.5, 0.4, 0.0, *[0.0] * 18]))
    columns = ["".join(line[10 + 2 * hour : 12 + 2 * hour] for line in lines[:HEIGHT]).split() for hour in range(6)]
    assert columns == [["#" * 12], ["#" * 6], ["#" * 8], ["##"], [".."], []]


def test_an_object_without_a_pattern_is_flat() -> None:
    lines = list(pattern_plot([0.02] * 24))
    assert lines[0] == "3.4/week |" + "#" * 48
    assert lines[1] == lines[HEIGHT - 1] == "         |" + "#" * 48
