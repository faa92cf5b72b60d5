"""Errors of TOML in plain words: what stands in the line, and what was expected there.

tomllib's messages are those of a parser: `Expected newline or end of document after a statement` means that a text has
no quotes.
"""

import re
from tomllib import TOMLDecodeError

_AT_LINE = re.compile(r"line ([0-9]+), column ([0-9]+)")
_ASSIGNMENT = re.compile(r"\s*([^\s=]+)\s*=\s*([^#]*?)\s*(?:#.*)?")
_COLON = re.compile(r"\s*[\w.-]+\s*:(\s|$)")
_OTHER_QUOTES = re.compile("[\u2018-\u201f\u00ab\u00bb]")
_WORDS = {"yes", "no", "on", "off", "true", "false"}
_MAX_CHARACTERS = 80
_USER_INFO = re.compile(r"//\S*@")


def syntax_error(toml: str, error: TOMLDecodeError) -> tuple[int, str]:
    """Return the line, from 1, and the explanation of an error in a text."""
    what, _, where = str(error).partition(" (at ")
    at_line = _AT_LINE.match(where)
    number = int(at_line[1]) if at_line else toml.rstrip().count("\n") + 1  # "at end of document"
    line = toml.split("\n")[number - 1].strip()
    place = f"column {at_line[2]}" if at_line else "the end of the file"
    return number, f"{_shown(line)}: {_expected(what, line) or f'{what} in {place}'}"


def _shown(line: str) -> str:
    """Return a line for a message: printable, abbreviated, and without credentials in URLs."""
    text = _USER_INFO.sub("//***@", "".join(char if char.isprintable() else "?" for char in line))
    return text if len(text) <= _MAX_CHARACTERS else text[: _MAX_CHARACTERS - 3] + "..."


def _expected(what: str, line: str) -> str:
    """Return what was expected; empty if that is not known."""
    if line.startswith((";", "//")):
        return "a comment begins with #"
    if what.startswith(("Cannot declare", "Cannot overwrite", "Cannot mutate", "Cannot redefine", "Duplicate")):
        kind = "section" if line.startswith("[") else "key"
        return f"this {kind} is there twice"
    if what.startswith("Unclosed"):
        return "a list or table that begins before is not closed"
    if _OTHER_QUOTES.search(line):
        return "expected straight quotes, as in \"text\" or 'text'"
    if what.startswith(("Unterminated", "Illegal character '\\n'")):
        return "a text is not closed by a quote"
    if what.startswith(("Unescaped", "Invalid hex", "Escaped")):
        return r"a backslash in a text is written \\, or the text in single quotes"
    if line.startswith("["):
        return "expected a section, such as [proxy] or [[domain]]"
    if (assignment := _ASSIGNMENT.fullmatch(line)) is not None:
        return _of_value(assignment[1], assignment[2])
    return 'expected key = value, or a section such as [proxy]' if _COLON.match(line) or "=" not in line else ""


def _of_value(key: str, value: str) -> str:
    if not value:
        return "expected a value after ="
    if value.lower() in _WORDS:
        return "expected true or false"
    if value[0] in "\"'[{" or "\"" in value:
        return ""
    return f'a text stands in quotes: {key} = "{_shown(value)}"'
