from dataclasses import replace
from pathlib import Path

import pytest
from small_cases import case

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.evaluation import evaluation
from bestbefore.replay.evaluation.case import Known
from bestbefore.replay.evaluation.compared import Compared
from bestbefore.replay.evaluation.evaluation import SETTLED_S, Evaluation, Setting, SettingResult
from bestbefore.replay.simulate.plain_engine import replay
from bestbefore.replay.simulate.scenario import Cache

POLICIES = [Compared.of("ttl:alpha=0.1..1/2"), Compared.of("fixed:interval=1h..4h/2")]
SETTINGS = [Setting(case(), cache, known) for cache in Cache for known in (Known.COMPLETE, Known.CHANGED)]


def outcomes(jobs: int = 1, finished: Path | None = None) -> list[SettingResult]:
    return list(Evaluation(POLICIES, SETTINGS, (0.0, 0.1)).outcomes(jobs, finished))


def test_curves_are_those_of_replays() -> None:
    for found, setting in zip(outcomes(), SETTINGS, strict=True):
        assert found.setting == setting
        scenario = setting.case.scenario(setting.cache, setting.known)
        counts = replay(scenario, parse_spec("ttl:alpha=0.1"))
        assert found.curves["ttl:alpha"].points[0] == (
            counts.stale_hits / counts.cached, counts.validations / counts.cached
        )
        assert found.oracle == found.bounds[0.0] > found.bounds[0.1]
        assert set(found.by_kind) <= {"bursty", "cyclic", "mixed"}


def test_what_is_finished_is_not_replayed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finished = tmp_path / "finished.jsonl"
    first = outcomes(finished=finished)
    lines = finished.read_text().splitlines()
    assert len(lines) == len(SETTINGS) * 5
    monkeypatch.setattr(evaluation.RequestRun, "rows", lambda *_: pytest.fail("replayed again"))
    assert [one.curves for one in outcomes(finished=finished)] == [one.curves for one in first]
    assert finished.read_text().splitlines() == lines


def test_several_processes_find_the_same() -> None:
    assert [one.curves for one in outcomes(jobs=2)] == [one.curves for one in outcomes()]


def test_a_controlled_stale_rate_is_measured_after_two_days() -> None:
    setting = Setting(case(), Cache.SHARED, Known.OBSERVED)
    policies = [*POLICIES, Compared.of("ttl:price=1..4/2")]
    found, complete = Evaluation(policies, [setting, setting._replace(known=Known.COMPLETE)], (0.1,)).outcomes(1)
    begun = replace(setting.case, requests=setting.case.requests.before(setting.case.test_start_s + SETTLED_S))
    policy = parse_spec("ttl:stale_rate=0.1")
    whole, first = (replay(one.scenario(Cache.SHARED, Known.OBSERVED), policy) for one in (setting.case, begun))
    cached = whole.cached - first.cached
    assert complete.held == {}
    assert found.held == {0.1: ((whole.stale_hits - first.stale_hits) / cached, cached)}
