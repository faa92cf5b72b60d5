"""Patterns of text in which `*` stands for any text."""


def matches_stars(pattern: str, text: str) -> bool:
    """Whether the whole text matches the pattern, in which each `*` matches any text.

    Takes time linear in the text for each `*`, without backtracking: clients or sites choose the text or the pattern.
    """
    first, *pieces = pattern.split("*")
    if not pieces:
        return text == first
    last = pieces.pop()
    at, end = len(first), len(text) - len(last)
    if not (at <= end and text.startswith(first) and text.endswith(last)):
        return False
    for piece in pieces:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True
