"""The configuration in force."""

import asyncio

from bestbefore.addon.dashboard.pages.page import Asked, PageView
from bestbefore.addon.reports.configuration import sections


async def read(asked: Asked) -> PageView:
    """Return each value with its source."""
    source = asked.source
    # In a thread: it reads the file.
    found = await asyncio.to_thread(sections, source.config, source.config_file)
    return PageView("configuration.html", "Configuration", {"sections": found, "file": source.config_file})
