from bestbefore.replay.evaluation.halves import Half

NAMES = [f"source/{i}" for i in range(1000)]


def test_each_object_is_in_one_half_and_about_as_many_are_in_each() -> None:
    reporting = [name for name in NAMES if Half.REPORTING.has(name)]
    assert all(Half.TUNING.has(name) is (name not in reporting) for name in NAMES)
    assert all(Half.ALL.has(name) for name in NAMES)
    assert 450 < len(reporting) < 550


def test_the_half_of_an_object_never_changes() -> None:
    assert [Half.REPORTING.has(name) for name in ("cdc/IA", "chp/UK", "moz/all.json")] == [False, False, True]
