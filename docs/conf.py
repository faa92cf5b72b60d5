"""The settings of the site that `sphinx-build -W docs build/site` makes of these pages."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "site"))

project = "bestbefore"
version = release = version_of("bestbefore")
extensions = ["myst_parser", "sphinx.ext.autodoc", "generated", "notebook"]
exclude_patterns = ["site"]
nitpicky = False  # types of numpy and of the inner modules have no page

# GitHub's anchors, so that the same links hold there and here.
myst_heading_anchors = 5
myst_enable_extensions = ["deflist"]
suppress_warnings = ["misc.highlighting_failure"]  # CSV and other text in no language of Pygments

default_role = "literal"  # docstrings name code in single backticks
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True

# All that a page loads lies in the site itself: style, script and the index of the search.
html_theme = "furo"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_title = f"bestbefore {version}"
smartquotes = False  # `--live` is no dash, and quotes are those of the file
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
