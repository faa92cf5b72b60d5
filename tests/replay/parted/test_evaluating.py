"""Parts of an evaluated trace against the whole."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from small_cases import case

from bestbefore.replay.evaluation.case import Known
from bestbefore.replay.evaluation.compared import Compared
from bestbefore.replay.evaluation.evaluation import Evaluation, Setting, SettingReplay
from bestbefore.replay.evaluation.halves import Half
from bestbefore.replay.parted.evaluating import PartCases, PartSetting, PartTotals, evaluated_parts, without_events
from bestbefore.replay.parted.splitting import split
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.scenario import Cache
from bestbefore.replay.sweeps.parallel import parallel_map

POLICIES = [Compared.of("ttl:price=1..4/2"), Compared.of("fixed:interval=1h..4h/2")]
RATES = (0.0, 0.1)
CONDITIONS = [(Cache.CLIENT, Known.COMPLETE), (Cache.SHARED, Known.OBSERVED), (Cache.SHARED, Known.FIRST_DAY)]


@pytest.mark.slow
@pytest.mark.parametrize("half", [Half.ALL, Half.TUNING])
def test_the_counts_of_parts_add_up_to_those_of_the_whole(half: Half, tmp_path: Path) -> None:
    whole = replace(case(), grouping=Grouping.PREFIX)
    trace = split(whole.updates, whole.requests, tmp_path / "parts", "prefix", 5)
    assert any(not part.request_rows for part in trace.parts)
    empty = replace(whole, updates=without_events()[0], requests=without_events()[1])
    cases = PartCases(trace, trace.folder, empty, half)
    totals = PartTotals.of_all([cases(number) for number in range(5)])
    (one,) = split(whole.updates, whole.requests, tmp_path / "one", "prefix", 1).parts
    assert one.request_rows == len(whole.requests)
    alone = PartCases(replace(trace, folder=tmp_path / "one", parts=(one,)), tmp_path / "one", empty, half).of(0)
    assert (totals.requests, totals.updates) == (len(alone.requests), len(alone.updates))
    assert totals.tested == len(alone.requests.since(whole.test_start_s))
    cases = replace(cases, case=replace(empty, first_s=totals.first_s))
    settings = [Setting(empty, *condition) for condition in CONDITIONS]
    function = PartSetting(cases, settings, SettingReplay(POLICIES, RATES, None, compiles=False))
    counted = evaluated_parts(function, partial(parallel_map, jobs=1), iter)
    found = [counts.result(setting, RATES) for counts, setting in zip(counted, settings, strict=True)]
    expected = Evaluation(POLICIES, [Setting(alone, *condition) for condition in CONDITIONS], RATES).outcomes(1)
    for of_parts, of_whole in zip(found, expected, strict=True):
        assert replace(of_parts, setting=of_whole.setting, replayed=of_whole.replayed) == of_whole
    assert found[1].held
