"""The clients that are tunnelled, because they refuse the certificate of the proxy."""

from bestbefore.addon.dashboard.pages.overview import tunnelled
from bestbefore.addon.dashboard.pages.page import Asked, PageView


async def read(asked: Asked) -> PageView:
    """Return what is tunnelled."""
    return PageView("tunnels.html", "Tunnels", {"rows": tunnelled(asked)})
