"""The domains of objects: what a rule of a configuration can match."""

import re

_URL = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/?#]*@)?([^/?#]*)", re.IGNORECASE)
_HOST_PORT = re.compile(r"\[([^\]]*)\](?::[0-9]*)?|([^:]*):[0-9]*")


def domain_of(object_: str) -> str:
    """The host of an object.

    Of a URL it is the host, of any other name the part before the first `/` or, where there is none, the whole name;
    both without a port. So `http://Example.org:8080/a`, `example.org/b` and `example.org` are of one domain. Case and
    a final dot do not matter. A path alone, as in a log that does not name its host, has the domain "".
    """
    url = _URL.match(object_)
    host = url[1] if url else object_.partition("/")[0]
    if with_port := _HOST_PORT.fullmatch(host):
        host = with_port[1] or with_port[2] or ""
    return host.lower().removesuffix(".")
