"""The identification of clients that connect through a load balancer, by the header with which each connection begins.

Where connections come from the networks of `proxy_protocol_from`, the header is required, and its address takes the
place of the balancer's everywhere: in access control, the log, and what is learnt or kept for one client. No such
client has the rights of a program of this machine (`access.StatedAddress`), not even the balancer itself.
"""

import asyncio
import logging

from mitmproxy.connection import Client

from bestbefore.addon.config.settings import Settings
from bestbefore.addon.proxy.access.access import StatedAddress, address_of, is_within, peer_of
from bestbefore.addon.proxy.balancer.header import missing, source_of
from bestbefore.addon.proxy.mitm import transports

logger = logging.getLogger(__name__)


class NoHeaderError(Exception):
    """A connection does not begin with a header, or with a wrong one."""


async def identify(client: Client, settings: Settings) -> bool:
    """Replace the address of a new connection by that which a balancer states; False if it must be refused.

    A connection that a balancer closes without having sent anything, such as a check, is not logged.
    """
    networks = settings.proxy_protocol_from
    address = address_of(peer_of(client)) if networks else None
    if address is None or not is_within(address, networks):
        return True
    reader = transports.reader_of(client)
    if reader is None:  # not of TCP
        client.error = "no header of the PROXY protocol"
        return False
    try:
        source = await read_source(reader, settings.head_timeout)
    except NoHeaderError as error:
        logger.warning("%s is refused: no header of the PROXY protocol: %s", address, error)
        client.error = "no header of the PROXY protocol"
    except OSError:
        client.error = "closed at once"
    else:
        host, port = source or (str(address), client.peername[1] if client.peername else 0)
        client.peername = (StatedAddress(host), port)
    return client.error is None


async def read_source(reader: asyncio.StreamReader, within_s: float) -> tuple[str, int] | None:
    """Return the address and port that the header at the beginning of a connection states; None: it states none.

    Reads the header and nothing behind it. Raises NoHeaderError, and OSError if the connection ends before it.
    """
    header = b""
    try:
        async with asyncio.timeout(within_s):
            while n := missing(header):
                header += await reader.readexactly(n)
            return source_of(header)
    except TimeoutError:
        raise NoHeaderError(f"it is not complete after {within_s:g} s") from None
    except asyncio.IncompleteReadError as error:
        if not header and not error.partial:
            raise ConnectionResetError from None
        raise NoHeaderError("the connection ended within it") from None
    except ValueError as error:
        raise NoHeaderError(str(error)) from None
