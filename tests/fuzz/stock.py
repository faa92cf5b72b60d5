"""Stock servers in place of our origin: nginx, and Node's HTTP server. They answer with the names that they read, and
their logs tell what they took for requests."""

import re
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from certificates import Certificates
from judge import Judge
from requests_read import Request

if TYPE_CHECKING:
    from answers import Answer
    from recording import Record

SERVERS = {"nginx": "/usr/sbin/nginx", "node": "node"}
PATIENCE_S = 60.0

_NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 4096; }}
http {{
  log_format fuzz escape=json '$request\\t$http_x_id\\t$status\\t$host:$server_port';
  access_log {folder}/log fuzz;
  keepalive_requests 1000000; keepalive_timeout 75s; client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  map $args $asker {{ public ""; default " $http_x_id"; }}
  map $args $freshness {{ public "public, max-age=600"; default ""; }}
  server {{
    {listen}
    location ~ ^/(?<named>u[0-9.]+-[0-9a-f]+)$ {{
      add_header X-Answer $named always; add_header Cache-Control $freshness always;
      return 200 "$named$asker\\n";
    }}
    location / {{ add_header X-Answer - always; return 200 ""; }}
  }}
}}
"""

_NODE = """
const fs = require('fs'), tls = {tls};
const log = fs.createWriteStream('{folder}/log', {{flags: 'a'}});
const answer = (request, response) => {{
  const id = (request.headers['x-id'] || '').replace(/\\t/g, '\\\\t'), [path, query] = request.url.split('?');
  const named = (/^\\/(u[0-9.]+-[0-9a-f]+)$/.exec(path) || [0, '-'])[1];
  log.write([request.method + ' ' + request.url + ' HTTP/1.1', id, '200', request.headers.host].join('\\t') + '\\n');
  request.on('error', () => 0); request.resume();
  const content = query === 'public' ? named + '\\n' : named + ' ' + id + '\\n';
  response.setHeader('X-Answer', named); response.setHeader('Content-Length', content.length);
  if (query === 'public') response.setHeader('Cache-Control', 'public, max-age=600');
  response.end(request.method === 'HEAD' ? '' : content);
}};
const options = tls ? {{key: fs.readFileSync(tls), cert: fs.readFileSync(tls)}} : {{}};
options.keepAliveTimeout = 75000;
const server = tls ? require('https').createServer(options, answer) : require('http').createServer(options, answer);
server.on('clientError', (error, socket) => {{
  if (error.code !== 'ECONNRESET' && socket.writable)
    log.write('\\t\\t400 ' + error.code + '\\t' +
      String(error.rawPacket).slice(-900).replace(/[\\t\\n\\r]/g, '~') + '\\n');
  socket.destroy();
}});
server.listen({port}, '127.0.0.1');
"""


def is_installed(server: str) -> bool:
    return shutil.which(SERVERS[server]) is not None


class StockOrigin:
    """A stock server while it runs. It stands where a `Recorder` does, and knows nothing of single connections."""

    def __init__(self, server: str, folder: Path, certificates: Certificates | None) -> None:
        self.answers_early = True
        self._server = server
        self.answers: dict[tuple[int, int], Answer] = {}
        self.records: set[Record] = set()
        folder.mkdir(parents=True, exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._log = folder / "log"
        self._log.touch()
        self._read_to = 0
        leaf = certificates.leaf_file if certificates is not None else None
        if server == "nginx":
            listen = f"listen 127.0.0.1:{self.port}" + (
                f" ssl; ssl_certificate {leaf}; ssl_certificate_key {leaf};" if leaf else ";"
            )
            (folder / "conf").write_text(_NGINX.format(folder=folder, listen=listen))
            command = [SERVERS[server], "-p", str(folder), "-c", str(folder / "conf"), "-e", str(folder / "errors")]
        else:
            (folder / "server.js").write_text(
                _NODE.format(folder=folder, port=self.port, tls=f"'{leaf}'" if leaf else "null")
            )
            command = [SERVERS[server], str(folder / "server.js")]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        self.close()
        raise RuntimeError(f"{server} did not start")

    def settled(self, judge: Judge) -> None:
        """Judge what was logged since the last time."""
        with self._log.open("rb") as log:
            log.seek(self._read_to)
            lines = log.read()
        end = lines.rfind(b"\n") + 1
        self._read_to += end
        for line in lines[:end].splitlines():
            request, asker, status, host = (*line.split(b"\t"), b"", b"", b"")[:4]
            request = request.replace(b'\\"', b'"').replace(b"\\\\", b"\\") or host.partition(b"~~")[0]
            if b"\\u0016\\u0003" in line or b"\x16\x03" in line:
                judge.notes["TLS where none is spoken"] += 1  # for a client's https target
                continue
            asker = asker.replace(b"\\t", b"\t")
            if self._server == "node":
                asker = asker.decode("utf-8", "replace").encode("latin-1", "replace")
            judge.logged(_logged(request, asker, host), status, line)

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_S)


def _logged(line: bytes, asker: bytes, host: bytes) -> Request | None:
    words = line.split(b" ")
    if len(words) != 3 or words[2] != b"HTTP/1.1":
        return None
    path = re.sub(rb"https?://[^/]*", b"", words[1])  # a parent proxy is asked for the whole
    return Request(words[0], words[1], 1, [(b"x-id", asker)], authority=host, path=path)
