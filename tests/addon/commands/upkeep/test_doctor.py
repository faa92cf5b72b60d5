"""What `bestbefore doctor` finds where no proxy runs; with one it is in tests/live/operation/test_run.py."""

import json
import os
import shutil
import socket
import sqlite3
import ssl
import threading
from collections.abc import Callable
from contextlib import closing
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import redis
from mitmproxy.certs import CertStore

from bestbefore.addon import cli
from bestbefore.addon.clock import RealClock
from bestbefore.addon.commands.upkeep.client_checks import client_findings

Findings = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def found(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Findings:
    """Runs the command with --json; its status, and the last finding of each check. No client is on the path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def run(*options: object) -> tuple[int, dict[str, Any]]:
        status = cli.run(["doctor", "--json", *map(str, options)])
        lines = map(json.loads, capsys.readouterr().out.splitlines())
        return status, {line["check"]: line for line in lines}

    return run


@pytest.fixture
def free(tmp_path: Path) -> Path:
    """A configuration with a port where nothing listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    file = tmp_path / "free.toml"
    file.write_text(f'[proxy]\nlisten = "127.0.0.1:{port}"\nstate = "state"\n')
    return file


def test_before_the_first_start_nothing_has_failed(found: Findings, free: Path, tmp_path: Path) -> None:
    status, findings = found("--config", free)
    states = {check: finding["state"] for check, finding in findings.items()}
    assert (status, states) == (0, {
        "configuration": "ok", "state": "ok", "disk": "ok", "clock": "ok", "store": "ok", "port": "warning",
        "ca": "skipped", "origin": "skipped",
    })  # fmt: skip
    assert findings["port"]["advice"] == "start one: bestbefore proxy"
    assert not (tmp_path / "state").exists()


def test_a_wrong_configuration_is_named_with_its_line(found: Findings, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[proxy]\nlisen = 3\n")
    status, findings = found("--config", tmp_path / "bad.toml")
    assert (status, list(findings)) == (2, ["configuration"])
    assert f"{tmp_path / 'bad.toml'}:2" in findings["configuration"]["found"]


def test_a_proxy_and_a_store_that_do_not_answer_fail(found: Findings, tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    options = ["--store", f"redis://:secret@127.0.0.1:{port}/0", "--proxy", f"http://127.0.0.1:{port}"]
    status, findings = found(*options, "--state", tmp_path)
    assert (status, findings["store"]["state"], findings["port"]["state"]) == (1, "failed", "failed")
    assert findings["store"]["advice"] == "until it answers the proxy learns in memory"
    assert "secret" not in str(findings)


def test_another_program_at_the_port_of_a_reverse_proxy_is_seen(found: Findings, tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        config = tmp_path / "reverse.toml"
        listen, mode = f"127.0.0.1:{server.server_port}", "reverse:http://127.0.0.1:1"
        config.write_text(f'[proxy]\nlisten = "{listen}"\nmode = "{mode}"\nstate = "state"\n')
        status, findings = found("--config", config)
        server.shutdown()
        thread.join()
    assert (status, findings["port"]["state"], findings["origin"]["state"]) == (1, "failed", "skipped")
    assert "another program answers" in findings["port"]["found"]


def test_an_admin_address_that_another_program_has_is_seen_before_the_proxy_starts(
    found: Findings, free: Path
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        admin = f"127.0.0.1:{server.getsockname()[1]}"
        free.write_text(f'{free.read_text()}admin = "{admin}"\n')
        status, findings = found("--config", free)
    assert (status, findings["port"]["state"]) == (1, "warning")
    assert findings["admin"]["found"] == f"a proxy cannot listen on {admin}: Address already in use"
    assert "admin" not in found("--config", free)[1]


def test_an_authority_that_may_not_be_read_is_not_to_be_replaced(tmp_path: Path) -> None:
    file, user = tmp_path / "mitmproxy-ca-cert.pem", os.geteuid()
    file.touch(mode=0o000)
    os.seteuid(user or 65_534)  # root may read everything
    try:
        (finding,) = client_findings(tmp_path, RealClock())
    finally:
        os.seteuid(user)
    assert (finding.state, finding.found) == ("failed", f"{file}: Permission denied")
    assert finding.advice == "run this as the user of the proxy, which must be able to read its files"


def test_a_store_of_a_newer_version_is_refused(found: Findings, free: Path, valkey: Any) -> None:
    with redis.from_url(valkey.url) as client:
        client.hset("bb:store", "schema", 99)
    status, findings = found("--config", free, "--store", valkey.url)
    assert (status, findings["store"]["state"]) == (1, "failed")
    assert "written by a newer bestbefore (schema 99" in findings["store"]["found"]


def test_files_from_the_future_and_an_open_key_fail_and_databases_of_browsers_are_read(
    found: Findings, free: Path, tmp_path: Path
) -> None:
    state, database = tmp_path / "state", tmp_path / "home" / ".pki" / "nssdb" / "cert9.db"
    CertStore.from_store(state, "mitmproxy", 2048)
    (state / "mitmproxy-ca.pem").chmod(0o644)
    os.utime(state / "mitmproxy-ca.pem", (4e9, 4e9))
    database.parent.mkdir(parents=True)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE nssPublic (a11)")
    status, findings = found("--config", free)
    assert (status, findings["clock"]["state"], findings["ca"]["state"]) == (1, "failed", "failed")
    assert findings["client:chromium"]["state"] == "warning"
    der = ssl.PEM_cert_to_DER_cert((state / "mitmproxy-ca-cert.pem").read_text())
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("INSERT INTO nssPublic VALUES (?)", (der,))
    assert found("--config", free)[1]["client:chromium"]["state"] == "ok"


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_a_client_is_tried_with_its_own_settings(
    found: Findings, free: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    CertStore.from_store(tmp_path / "state", "mitmproxy", 2048)
    (tmp_path / "curl").symlink_to(shutil.which("curl", path=os.defpath) or "")
    assert found("--config", free)[1]["client:curl"]["state"] == "warning"
    monkeypatch.setenv("CURL_CA_BUNDLE", str(tmp_path / "state" / "mitmproxy-ca-cert.pem"))
    assert found("--config", free)[1]["client:curl"]["state"] == "ok"
