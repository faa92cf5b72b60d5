import json

import pytest

from bestbefore.addon import cli
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.policies.validation.table import POLICIES


def test_each_policy_is_listed_as_a_spec_with_its_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["policies"]) == 0
    printed = capsys.readouterr().out.splitlines()
    specs = [line for line in printed if not line.startswith(" ")][:-1]
    assert [parse_spec(spec) for spec in specs] == [policy() for policy in POLICIES.values()]
    assert printed[printed.index("ttl:alpha=0.1") + 2] == "  or ttl:theta=0.1"
    assert "indttl:theta=0.1,alpha=0.1,window=1d,threshold=2" in specs
    assert printed[printed.index("oracle") + 1].endswith("(In replays only.)")
    assert parse_spec(f"ttl:{printed[-1].strip()}") is not None
    assert cli.run(["policies", "--json"]) == 0
    objects = list(map(json.loads, capsys.readouterr().out.splitlines()))
    assert [spec for one in objects for spec in one["specs"][:1]] == specs
