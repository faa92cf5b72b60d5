"""The pages that say how something is added, followed to the letter in a copy of the tree."""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).parent.parent
PROGRAMS = Path(sys.executable).parent
PATIENCE_S = 240.0


class Tree:
    """A copy of the product and its tests, whose packages come before the installed ones."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("addon", "policies", "replay", "tests", "docs"):
            shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", "*.svg", ".*"))
        shutil.copy(ROOT / "pyproject.toml", root)
        packages = root / "build" / "src" / "bestbefore"
        packages.mkdir(parents=True)
        for folder in ("addon", "policies", "replay"):
            (packages / folder).symlink_to(root / folder)
        self.env = {**os.environ, "PYTHONPATH": str(packages.parent), "XDG_CACHE_HOME": str(root / "cache")}
        self.env.pop("BESTBEFORE_WHEEL", None)

    def command(self, text: str) -> list[str]:
        words = shlex.split(text)
        return [str(PROGRAMS / words[0].removeprefix(".venv/bin/")), *words[1:]]

    def run(self, text: str) -> str:
        """What a command prints; it must succeed."""
        done = subprocess.run(
            self.command(text), cwd=self.root, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=PATIENCE_S,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}"
        return done.stdout

    def follow(self, page: str) -> None:
        """Write the files, make the changes, run the commands, in the order of the page."""
        text = (self.root / "docs" / page).read_text()
        parts = re.split(r"^```(\w+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
        path = self.root
        for prose, kind, block in zip(parts[::3], parts[1::3], parts[2::3], strict=False):
            # The last file that the paragraph before a block names is where the block goes.
            for named in re.findall(r"`(\w+/[\w/]+\.(?:py|md))`", prose.strip().rpartition("\n\n")[2]):
                path = self.root / named
            if kind == "python":
                assert not path.exists()
                path.write_text(block)
            elif kind == "diff":
                before, after = (
                    "".join(line[1:] for line in block.splitlines(keepends=True) if line[0] in marks)
                    for marks in (" -", " +")
                )
                content = path.read_text()
                assert content.count(before) == 1, before
                path.write_text(content.replace(before, after))
            elif kind == "sh":
                for command in block.splitlines():
                    self.run(command)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_the_tree_is_the_copy(tree: Tree) -> None:
    names = "import bestbefore.policies as p, bestbefore.replay as r; print(p.__file__, r.__file__)"
    found = tree.run(f"python -c '{names}'")
    assert [str(Path(name).resolve().parent.parent) for name in found.split()] == [str(tree.root.resolve())] * 2


@pytest.mark.slow
def test_a_policy(tree: Tree) -> None:
    tree.follow("adding_a_policy.md")
    trace = "--updates tests/data/excerpt.updates.csv --requests tests/data/excerpt.requests.csv.gz --origin 1706227200"
    command = f"bestbefore replay {trace} --test-start 1706918400 --history both --policy shortestgap:max=6h --json"
    fast, plain = (
        re.sub(r'"through": "\w+"', "", tree.run(f"{command} --through {engine}")) for engine in ("fast", "plain")
    )
    assert fast == plain
    assert {"complete", "observed"} == set(re.findall(r'"history": "(\w+)"', fast))
    (tree.root / "proxy.toml").write_text('[default]\npolicy = "shortestgap"\ngaps = 5\n')
    assert "policy = shortestgap:gaps=5,min=1m,max=1d," in tree.run("bestbefore check-config proxy.toml")
    assert "shortestgap:gaps=10,min=1m,max=1d\n    ShortestGap: poll as often" in tree.run("bestbefore policies")


@pytest.mark.slow
def test_a_scheduler(tree: Tree) -> None:
    tree.follow("adding_a_scheduler.md")
    printed = tree.run("bestbefore multicast --clients 5 --days 1 --scheduler oldest --json")
    assert json.loads(printed)["scheduler"] == "oldest"
    assert "oldest" in tree.run("bestbefore multicast --help")


@pytest.mark.slow
def test_a_trace_reader(tree: Tree) -> None:
    tree.follow("adding_a_trace_reader.md")
    line = (
        '{{"ts":{},"request":{{"remote_ip":"192.0.2.1","method":"GET","host":"example.com","uri":"/a"}},'
        '"status":200,"size":{}}}\n'
    )
    with gzip.open(tree.root / "access.log.gz", "wt") as log:
        log.writelines(line.format(1700000000 + 60 * n, 1000 + n // 30) for n in range(90))
    converted = tree.run("bestbefore convert access.log.gz access.csv")
    assert "90 requests" in converted
    assert "(caddy); bad entries skipped: 0" in converted
    replayed = tree.run("bestbefore replay --log access.log.gz --through plain --policy ttl --json")
    assert '"requests": 90' in replayed


@pytest.mark.slow
@pytest.mark.live
def test_a_metric(
    tree: Tree, start_process: Callable[..., "subprocess.Popen[Any]"], free_port: Callable[[], int]
) -> None:
    tree.follow("adding_a_metric.md")
    port, admin = free_port(), free_port()
    command = f"bestbefore proxy --listen 127.0.0.1:{port} --admin 127.0.0.1:{admin} --state state"
    process = start_process(
        tree.command(command), cwd=tree.root, env=tree.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert any("bestbefore show" in line for line in process.stdout)
    for method in ("HEAD", "GET", "HEAD"):
        client = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        client.request(method, "http://bestbefore.test/clock")
        assert client.getresponse().status == 200
        client.close()
    with urlopen(f"http://127.0.0.1:{admin}/metrics", timeout=PATIENCE_S) as answer:
        assert "\nbestbefore_head_requests_total 2.0\n" in answer.read().decode()
