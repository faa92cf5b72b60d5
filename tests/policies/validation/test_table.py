import re
from dataclasses import asdict
from pathlib import Path

from bestbefore.policies.validation.machinery.spec import params, parse_duration
from bestbefore.policies.validation.table import POLICIES

TEXT = (Path(__file__).parents[3] / "docs" / "policies.md").read_text()


def test_policies_are_listed_under_their_own_names() -> None:
    assert [policy.name for policy in POLICIES.values()] == list(POLICIES)


def test_each_is_made_of_numbers_alone_and_says_what_it_is() -> None:
    for policy in POLICIES.values():
        others = {key: value for key, value in asdict(policy()).items() if not isinstance(value, float)}
        assert not others, f"{policy.name}: expected defaults of type float"
        assert policy.__doc__, policy.name


def test_each_policy_has_its_row_in_the_documentation() -> None:
    tables = "".join(re.findall(r"^\| name \|.*\n((?:\|.*\n)+)", TEXT, re.MULTILINE))
    assert sorted(re.findall(r"^\| `(\w+)` \|", tables, re.MULTILINE)) == sorted(POLICIES)
    (names,) = re.findall(r"^\| `fallback` \| .*; for (.*) alone \|$", TEXT, re.MULTILINE)
    assert sorted(re.findall(r"\w+", names)) == sorted(name for name, own in POLICIES.items() if own.uses_fallback)


def test_the_defaults_in_the_documentation_are_those_of_the_code() -> None:
    lines = (line.strip("| ").split(" | ") for line in TEXT.splitlines() if line.startswith("| `"))
    documented = {row[0].strip("`"): row for row in reversed(list(lines)) if row[0].strip("`") in POLICIES}
    for name, row in documented.items():
        cell = next((cell for cell in row[1:] if re.match(r"`\w+` \(", cell)), "")
        defaults = {key: parse_duration(value) for key, value in re.findall(r"`(\w+)` \(([^)]+)\)", cell)}
        assert defaults == params(POLICIES[name]())
