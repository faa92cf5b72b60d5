"""The configuration in force, and the check of another text of it."""

import asyncio
import difflib

from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.dashboard.pages.page import Asked, PageView
from bestbefore.addon.reports.configuration import changes, sections, text_of


async def read(asked: Asked) -> PageView:
    """Return each value with its source, and what a form has asked to be checked. Nothing is written."""
    # In a thread: it reads files.
    return await asyncio.to_thread(_read, asked)


def _read(asked: Asked) -> PageView:
    source = asked.source
    now = text_of(source.config_file) if asked.here else ""
    text = str(asked.form["text"]).replace("\r\n", "\n") if "text" in asked.form else None
    problems: list[str] = []
    changed = []
    if text is not None:
        try:
            changed = changes(source.config, source.checked(text))
        except ConfigError as error:
            problems = error.message.splitlines()
    return PageView(
        "configuration.html",
        "Configuration",
        {
            "sections": sections(source.config, source.config_file),
            "file": source.config_file,
            "text": now if text is None else text,
            "checked": text is not None,
            "problems": problems,
            "changes": changed,
            "diff": "" if text is None else _diff(now, text),
            "masked": "://...@" in now,
        },
    )


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "the file now", "the text", lineterm="")
    return "\n".join(lines)
