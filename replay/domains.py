"""The domains of objects, which domain rules of a configuration match."""

import re

_URL = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/?#]*@)?([^/?#]*)", re.IGNORECASE)
_HOST_PORT = re.compile(r"\[([^\]]*)\](?::[0-9]*)?|([^:]*):[0-9]*")


def domain_of(object_: str) -> str:
    """The host of a URL, or the part of any other name before the first `/`, without a port.

    So `http://Example.org:8080/a`, `example.org/b` and `example.org` have the same domain. Case and a final dot are
    ignored. A path alone, as in the log of a single host, has the domain "".
    """
    url = _URL.match(object_)
    host = url[1] if url else object_.partition("/")[0]
    if with_port := _HOST_PORT.fullmatch(host):
        host = with_port[1] or with_port[2] or ""
    return host.lower().removesuffix(".")
