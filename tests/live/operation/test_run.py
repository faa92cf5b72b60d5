"""`bestbefore run` beside a real proxy."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND

from bestbefore.addon import cli

FETCH = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).headers['Cache-Status'])"


@pytest.fixture
def run(shared_proxy: Any, tmp_path: Path) -> Any:
    """Runs a command to its end."""

    def run(*command: str, state: Path = shared_proxy.state) -> subprocess.CompletedProcess[str]:
        url = f"http://127.0.0.1:{shared_proxy.port}"
        return subprocess.run(
            [COMMAND, "run", "--proxy", url, "--state", state, "--", *command],
            capture_output=True, text=True, timeout=60, check=False,
            env={"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)},
        )  # fmt: skip

    return run


def test_a_command_uses_the_proxy_and_trusts_its_certificate(run: Any, start_origin: Any, authority: Any) -> None:
    origin = start_origin({"/page": [0.0]}, authority.leaf_file)
    ended = run(sys.executable, "-c", FETCH, origin.url + "/page")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("bestbefore; fwd=uri-miss")


@pytest.mark.skipif(shutil.which("wget") is None, reason="no wget here")
def test_wget_which_reads_no_variable_for_certificates_trusts_the_proxy(
    run: Any, start_origin: Any, authority: Any, tmp_path: Path
) -> None:
    origin = start_origin({"/page": [0.0]}, authority.leaf_file)
    (tmp_path / "wget").symlink_to(shutil.which("wget") or "")
    ended = run("wget", "-nv", "-O", str(tmp_path / "page"), origin.url + "/page")
    assert (ended.returncode, "saved" in ended.stderr or "->" in ended.stderr) == (0, True), ended.stderr


def test_the_end_of_the_command_is_its_end(run: Any) -> None:
    assert run(sys.executable, "-c", "raise SystemExit(7)").returncode == 7
    killed = run(sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert killed.returncode == -signal.SIGTERM
    missing = run("no-such-command")
    assert (missing.returncode, missing.stderr) == (127, "bestbefore run: no-such-command: no such command\n")


def test_a_state_folder_of_another_proxy_is_refused(run: Any, tmp_path: Path, authority: Any) -> None:
    (tmp_path / "ca-bundle.pem").write_bytes(authority.ca_file.read_bytes())
    ended = run("true", state=tmp_path)
    assert ended.returncode == 2
    assert "ca-bundle.pem does not contain the certificate of the proxy at" in ended.stderr


def test_the_doctor_finds_a_proxy_that_works_and_an_origin_that_does_not(
    shared_proxy: Any, start_origin: Any, run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    origin = start_origin({"/page": [0.0]})
    (tmp_path / "python3").symlink_to(sys.executable)
    doctor = ["doctor", "--json", "--state", str(shared_proxy.state), "--origin", origin.url + "/page"]
    doctor += ["--proxy", f"http://127.0.0.1:{shared_proxy.port}"]
    ended = run(str(COMMAND), *doctor)
    findings = {line["check"]: line["state"] for line in map(json.loads, ended.stdout.splitlines())}
    assert (ended.returncode, findings.pop("client:python3"), set(findings.values())) == (0, "ok", {"ok"})
    assert origin.contacts
    origin.stop()
    assert cli.run(doctor) == 1
    *_, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (last["check"], last["state"]) == ("origin", "failed")
    assert last["advice"].startswith("nor can this machine without it (Connection refused)")
