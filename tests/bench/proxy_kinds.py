"""The proxies that are compared: how each is configured, started and measured."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

FOLDER = Path(__file__).parent
PORTS = {
    "mitmdump": 18481, "bare lean": 18482, "by streams": 18483, "at the bytes": 18484, "2 workers": 18485,
    "Squid": 18486, "nginx": 18487, "Traffic Server": 18488,
}
PROGRAMS = {"Squid": "squid", "nginx": "nginx", "Traffic Server": "traffic_server"}
"""Those of others: what is not installed is left out."""
STOCK = """
import mitmproxy.http
def request(flow):
    size = 1024 * int(flow.request.path.split("/")[1])
    flow.response = mitmproxy.http.Response.make(200, b"x" * size, {"Content-Type": "text/plain", "ETag": '"1"',
        "Cache-Control": "max-age=3600", "Age": "1", "Date": "Fri, 20 Nov 2026 12:00:00 GMT"})
"""
BY_STREAMS = """
from bestbefore.addon.proxy.mitm.wire import internals
internals.KNOWN_VERSIONS = frozenset()
from bestbefore.addon.cli import main
main()
"""
SQUID = """
http_port 127.0.0.1:{port}
acl all_of_them src 127.0.0.1
http_access allow all_of_them
cache_mem 64 MB
access_log stdio:{folder}/access.log
cache_log {folder}/cache.log
pid_filename {folder}/squid.pid
coredump_dir {folder}
cache_effective_user {user}
pinger_enable off
shutdown_lifetime 1 second
"""
NGINX = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.error;
events {{ worker_connections 2048; }}
http {{
    access_log {folder}/nginx.log;
    proxy_cache_path {folder}/nginx keys_zone=hits:10m max_size=64m;
    proxy_temp_path {folder}/nginx.tmp;
    client_body_temp_path {folder}/nginx.body;
    keepalive_requests 1000000000;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://$http_host$request_uri;
            proxy_cache hits;
        }}
    }}
}}
"""
TRAFFIC_SERVER = """CONFIG proxy.config.http.server_ports STRING {port}:ip-in=127.0.0.1
CONFIG proxy.config.reverse_proxy.enabled INT 0
CONFIG proxy.config.url_remap.remap_required INT 0
CONFIG proxy.config.exec_thread.autoconfig.enabled INT 0
CONFIG proxy.config.exec_thread.limit INT 1
CONFIG proxy.config.admin.user_id STRING #-1
CONFIG proxy.config.cache.ram_cache.size INT 64M
CONFIG proxy.config.log.logging_enabled INT 3
"""
RUN_ROOT = """prefix: {folder}
exec_prefix: /usr
bindir: /usr/bin
sbindir: /usr/sbin
sysconfdir: {folder}/etc
datadir: {folder}/cache
includedir: /usr/include
libdir: /usr/lib/trafficserver
libexecdir: /usr/lib/trafficserver/modules
localstatedir: {folder}
runtimedir: {folder}/run
logdir: {folder}/log
cachedir: {folder}/cache
"""


def installed_kinds() -> list[str]:
    """The proxies that can be started here."""
    return [kind for kind in PORTS if kind not in PROGRAMS or shutil.which(PROGRAMS[kind])]


def processor_s(pid: int) -> float:
    """Processor time of a process and its children, s."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK") + sum(map(processor_s, map(int, children)))


def resident_mb(pid: int) -> float:
    """Memory of a process and its children, MB."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6 + sum(map(resident_mb, map(int, children)))


def _command(kind: str, folder: Path) -> list[str | Path]:
    """How a proxy is started, with what it needs in its folder."""
    scripts, port = Path(sys.executable).parent, str(PORTS[kind])
    ours = ["proxy", "--quiet", "--admin", "off", "--config", folder / "proxy.toml", "--state", folder / "state",
            "--listen", f"127.0.0.1:{port}"]
    match kind:
        case "mitmdump":
            (folder / "stock.py").write_text(STOCK)
            return [scripts / "mitmdump", "-q", "-s", folder / "stock.py", "--listen-port", port, "--set",
                    f"confdir={folder / 'ca'}", "--set", "connection_strategy=lazy", "--set", "upstream_cert=false"]
        case "bare lean":
            return [sys.executable, FOLDER / "bare_proxy.py", port, "path"]
        case "Squid":
            user = "proxy" if os.getuid() == 0 else os.environ.get("USER", "nobody")
            (folder / "squid.conf").write_text(SQUID.format(port=port, folder=folder, user=user))
            return ["squid", "-N", "-f", folder / "squid.conf"]
        case "nginx":
            (folder / "nginx.conf").write_text(NGINX.format(port=port, folder=folder))
            return ["nginx", "-e", folder / "nginx.error", "-c", folder / "nginx.conf"]
        case "Traffic Server":
            shutil.copytree("/etc/trafficserver", folder / "etc")
            for name in ("cache", "run", "log"):
                (folder / name).mkdir()
            (folder / "etc" / "records.config").write_text(TRAFFIC_SERVER.format(port=port))
            (folder / "etc" / "storage.config").write_text(f"{folder / 'cache'} 64M\n")
            (folder / "runroot.yaml").write_text(RUN_ROOT.format(folder=folder))
            return ["traffic_server", f"--run-root={folder / 'runroot.yaml'}"]
        case _:
            (folder / "proxy.toml").write_text('[[domain]]\nmatch = "localhost"\nverify = false\n')
            (folder / "streams.py").write_text(BY_STREAMS)
            begin = [sys.executable, folder / "streams.py"] if kind == "by streams" else [scripts / "bestbefore"]
            return [*begin, *ours, "--workers", "2" if kind == "2 workers" else "1"]


@contextmanager
def running(kinds: list[str]) -> Iterator[dict[str, int]]:
    """The proxies, each with its process id and a folder of its own."""
    require_free(PORTS[kind] for kind in kinds)
    with tempfile.TemporaryDirectory() as made, ExitStack() as closing:
        Path(made).chmod(0o777)
        pids = {}
        for kind in kinds:
            folder = Path(made) / kind.replace(" ", "-")
            folder.mkdir()
            folder.chmod(0o777)
            process = subprocess.Popen(_command(kind, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            closing.callback(process.wait)
            closing.callback(process.terminate)
            pids[kind] = process.pid
        for kind in kinds:
            await_port(PORTS[kind])
        yield pids


def require_free(ports: Iterable[int]) -> None:
    """End the program if another one listens at a port, which would be measured in place of what is started."""
    for port in ports:
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # else connections that have ended count
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                sys.exit(f"127.0.0.1:{port} is in use, and a proxy is to listen there: end what uses it (`ss -ltnp`)")


def await_port(port: int, patience_s: float = 60.0) -> None:
    """Wait until a proxy listens."""
    until = time.monotonic() + patience_s
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return
