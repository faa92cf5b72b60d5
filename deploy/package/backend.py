"""The build backend: that of setuptools, after the text of the package's page was written.

That text is the README, whose links to other files lead nowhere outside of the sources. They become the text of the
link and the name of the file, which the source distribution holds; once the sources have an address, they should become
links to it. `pyproject.toml` reads the text from `build/description.md`.
"""

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path

from setuptools import build_meta
from setuptools.command.egg_info import manifest_maker

RELATIVE = re.compile(r"\[([^\]]+)\]\((?![a-z]+:|#)([^)#\s]+)(?:#[^)]*)?\)")
WRITTEN = Path("build/description.md")

# Which files the source distribution holds beside the packages; setuptools looks for it in the root only.
manifest_maker.template = "deploy/package/manifest.in"


def description(readme: str) -> str:
    """Return the README without relative links."""
    return RELATIVE.sub(lambda link: link[1] if link[2] in link[1] else f"{link[1]} (`{link[2]}`)", readme)


def _described[**P, R](hook: Callable[P, R]) -> Callable[P, R]:
    """Write the text before a hook runs, in the root of the sources, where front ends call hooks (PEP 517)."""

    @wraps(hook)
    def after_writing(*args: P.args, **kwargs: P.kwargs) -> R:
        WRITTEN.parent.mkdir(exist_ok=True)
        WRITTEN.write_text(description(Path("README.md").read_text("utf-8")), "utf-8")
        return hook(*args, **kwargs)

    return after_writing


get_requires_for_build_wheel = _described(build_meta.get_requires_for_build_wheel)
get_requires_for_build_sdist = _described(build_meta.get_requires_for_build_sdist)
get_requires_for_build_editable = _described(build_meta.get_requires_for_build_editable)
prepare_metadata_for_build_wheel = _described(build_meta.prepare_metadata_for_build_wheel)
prepare_metadata_for_build_editable = _described(build_meta.prepare_metadata_for_build_editable)
build_wheel = _described(build_meta.build_wheel)
build_sdist = _described(build_meta.build_sdist)
build_editable = _described(build_meta.build_editable)
