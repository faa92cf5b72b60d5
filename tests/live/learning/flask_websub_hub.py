"""A hub of the library flask-websub, as its documentation sets one up: `flask_websub_hub.py FOLDER LEASE_S`.

It prints its port. Subscriptions are in FOLDER, no lease is longer than LEASE_S, and what is to be sent waits in a
queue of Celery's, whose worker is a thread of this process.
"""

import logging
import sys
from pathlib import Path

from celery import Celery
from celery.contrib.testing.worker import start_worker
from flask import Flask
from flask_websub.hub import Hub, SQLite3HubStorage
from werkzeug.serving import make_server


def main(folder: Path, lease_s: int) -> None:
    logging.basicConfig(level=logging.INFO)
    app = Flask(__name__)
    app.config.update(PUBLISH_SUPPORTED=True, HUB_DEFAULT_LEASE_SECONDS=lease_s, HUB_MAX_LEASE_SECONDS=lease_s)
    celery = Celery(__name__, broker="memory://", backend="cache+memory://")
    celery.conf.worker_hijack_root_logger = False
    hub = Hub(SQLite3HubStorage(str(folder / "hub.db")), celery, **app.config)
    app.register_blueprint(hub.build_blueprint(url_prefix="/hub"))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    print(server.server_port, flush=True)
    with start_worker(celery, pool="solo", perform_ping_check=False):
        server.serve_forever()


main(Path(sys.argv[1]), int(sys.argv[2]))
