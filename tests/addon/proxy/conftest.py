"""What mitmproxy's layers stand in."""

import pytest
from mitmproxy.connection import Client, ConnectionState
from mitmproxy.options import Options
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.mode_specs import ProxyMode


@pytest.fixture
def context() -> Context:
    """That of a client's connection that is open."""
    settings = Options()
    settings.add_option("validate_inbound_headers", bool, True, "")
    mode = ProxyMode.parse("regular")
    return Context(
        Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), proxy_mode=mode, state=ConnectionState.OPEN),
        settings,
    )
