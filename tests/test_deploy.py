"""The files in deploy/ name metrics, options and files that exist. promtool checks the rules, if it is installed."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client.core import Metric

from bestbefore.addon.admin.metrics import Metrics
from bestbefore.addon.cli import COMMANDS
from bestbefore.addon.config.load import load_config
from bestbefore.addon.store_status import StoreStatus

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
DASHBOARD = DEPLOY / "grafana" / "dashboards" / "bestbefore.json"
RULES = DEPLOY / "prometheus" / "bestbefore.rules.yml"
STATUS = StoreStatus(False, "", frozenset(), 0, 0, 0, 0, 0.0, {}, {}, 0, 0.0, 0)
NAME = re.compile(r"\b(?:bestbefore|process)_\w+")


def families() -> list[Metric]:
    return Metrics(lambda: STATUS).families()


def exposed() -> set[str]:
    """The names of all samples that there can be."""
    endings = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"]}
    return {family.name + ending for family in families() for ending in endings.get(family.type, [""])}


def test_the_rules_and_the_dashboard_name_metrics_that_exist() -> None:
    board = json.loads(DASHBOARD.read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    shown = {name for query in queries for name in NAME.findall(query)}
    watched = {name for line in RULES.read_text().splitlines() for name in NAME.findall(line)}
    assert min(len(shown), len(watched)) > 10
    assert (shown | watched) - exposed() == set()


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    places = [
        (x, y) for panel in panels for at in [panel["gridPos"]]
        for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]  # fmt: skip
    assert (len(places), max(x for x, _ in places)) == (len(set(places)), 23)
    assert len({panel["id"] for panel in panels}) == len(panels)


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed")
def test_haproxy_accepts_its_configuration() -> None:
    subprocess.run(["haproxy", "-c", "-q", "-f", DEPLOY / "haproxy" / "haproxy.cfg"], check=True)


def test_services_run_commands_with_options_that_exist() -> None:
    lines = [line for unit in DEPLOY.glob("systemd/*.service") for line in unit.read_text().splitlines()]
    commands = [line.split()[1:] for line in lines if line.startswith("ExecStart=")]
    compose = (DEPLOY / "compose.yaml").read_text()
    commands.append(re.findall(r"^      - (?:--)?[\w-]+(?==|$)", compose, re.MULTILINE))
    commands[-1] = [word.removeprefix("      - ") for word in commands[-1]]
    assert len(commands) == 3
    for name, *words in commands:
        known = {option for one in COMMANDS[name].load().params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known, name


@pytest.mark.parametrize("file", sorted(path.relative_to(ROOT) for path in DEPLOY.glob("*/bestbefore.toml")), ids=str)
def test_the_configurations_are_valid(file: Path) -> None:
    assert load_config(ROOT / file).settings.listen.port == 8080


def test_the_files_that_others_name_are_there() -> None:
    compose = "".join((DEPLOY / name).read_text() for name in ("compose.yaml", "compose.monitoring.yaml"))
    mounted = re.findall(r"- \./([\w/]+):", compose)
    copied = [word for line in (DEPLOY / "Dockerfile").read_text().splitlines() if line.startswith("COPY ")
              for word in line.split()[1:-1] if not word.startswith(("--", "/opt"))]  # fmt: skip
    assert mounted
    assert [name for name in mounted if not (DEPLOY / name).is_dir()] == []
    assert [name for name in copied if not (ROOT / name).exists()] == []
    let_in = [line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line[0] == "!"]
    assert [name for name in copied if not name.startswith(tuple(let_in))] == []


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool here")
def test_prometheus_accepts_the_rules_and_they_do_as_their_tests_say() -> None:
    for words in (["check", "config", "prometheus.yml"], ["test", "rules", "bestbefore.rules.test.yml"]):
        done = subprocess.run(
            ["promtool", *words], cwd=RULES.parent, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
