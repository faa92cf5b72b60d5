from bestbefore.replay.traces.columns.names import NameColumn


def test_names_are_numbered_as_they_come_and_a_row_may_have_none() -> None:
    column = NameColumn()
    for name in ("b", "a", "b", ""):
        column.append(name)
    column.append(None)
    assert column.ids.tolist() == [0, 1, 0, 2, -1]
    assert column.names == ("b", "a", "")
    assert "a" in column
    assert "c" not in column
