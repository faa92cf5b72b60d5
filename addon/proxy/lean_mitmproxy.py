"""The addons of mitmproxy that the proxy uses, imported without the others.

Importing `mitmproxy.addons` imports all of them, and with them Flask, Werkzeug, ldap3 and pyparsing, which takes a
sixth of the processor time of the proxy's start.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PACKAGE = "mitmproxy.addons"


@contextmanager
def without_initialization(package: str) -> Iterator[None]:
    """Allow the import of modules of a package without its `__init__`, which the next import of the package runs."""
    spec = None if package in sys.modules else importlib.util.find_spec(package)
    if spec is None:
        yield
        return
    sys.modules[package] = importlib.util.module_from_spec(spec)
    try:
        yield
    finally:
        del sys.modules[package]
        parent, _, name = package.rpartition(".")
        vars(sys.modules[parent]).pop(name, None)


with without_initialization(PACKAGE):
    from mitmproxy.addons import core, disable_h2c, next_layer, proxyserver, tlsconfig
    from mitmproxy.master import Master

__all__ = ["Master", "core", "disable_h2c", "next_layer", "proxyserver", "tlsconfig"]
