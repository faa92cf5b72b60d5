"""The text of the package's page: the README, whose links to other files lead nowhere outside of the sources.

Everything else is in pyproject.toml. Links to files become the text of the link and the name of the file, which the
source distribution holds; once the sources have an address, these should become links to it.
"""

import re
from pathlib import Path

from setuptools import setup

RELATIVE = re.compile(r"\[([^\]]+)\]\((?![a-z]+:|#)([^)#\s]+)(?:#[^)]*)?\)")


def description() -> str:
    """Return the README without relative links."""
    readme = (Path(__file__).parent / "README.md").read_text("utf-8")
    return RELATIVE.sub(lambda link: link[1] if link[2] in link[1] else f"{link[1]} (`{link[2]}`)", readme)


setup(long_description=description(), long_description_content_type="text/markdown")
