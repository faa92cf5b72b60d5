"""The address of a client, as an option names it."""

import ipaddress

from bestbefore.addon.errors import InputError


def client_address(text: str) -> str:
    """Return the address as logs and lists write it. Raises InputError if it is none.

    >>> client_address("2001:DB8::0:7")
    '2001:db8::7'
    """
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise InputError(f"--client {text}: expected an IP address") from None
