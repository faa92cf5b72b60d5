"""Sockets from which several processes accept."""

import socket
import subprocess
import sys

import pytest

from bestbefore.addon.proxy.inherited_sockets import bound_sockets


def test_the_port_that_the_system_chooses_is_one_for_all_addresses() -> None:
    sockets = bound_sockets("localhost", 0)
    try:
        assert len({one.getsockname()[1] for one in sockets}) == 1
        for one in sockets:
            with socket.create_connection(one.getsockname()[:2], timeout=60):
                one.accept()[0].close()
    finally:
        for one in sockets:
            one.close()


def test_a_port_in_use_is_an_error() -> None:
    (taken,) = bound_sockets("127.0.0.1", 0)
    with taken, pytest.raises(OSError, match="in use"):
        bound_sockets("127.0.0.1", taken.getsockname()[1])


PASSED = """
import os, socket, sys
from bestbefore.addon.proxy.inherited_sockets import passed_sockets
os.dup2(socket.create_server(("127.0.0.1", 0)).detach(), 3)
environ = {"LISTEN_PID": sys.argv[1] or str(os.getpid()), "LISTEN_FDS": "1", "OTHER": ""}
print([one.family.name for one in passed_sockets(environ)], environ)
"""


@pytest.mark.parametrize(("process", "found"), [("", "['AF_INET']"), ("1", "[]")])
def test_the_sockets_of_a_service_manager_are_those_passed_to_this_process(process: str, found: str) -> None:
    words = [sys.executable, "-c", PASSED, process]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == f"{found} {{'OTHER': ''}}\n"
