"""The names that cases bear: in URLs (`u`), and in fields and content of the one that asks (`r`).

A name tells its case, its number within it, and a check, so that a name that was mutated is none.
"""

import re

_NAME = re.compile(rb"([ur])(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,3})-([0-9a-f]{4})")


def check(case: int, number: int) -> int:
    return (case * 40503 + number * 9973 + (case >> 7)) & 0xFFFF


def name(kind: str, case: int, number: int) -> str:
    """Of a URL (`u`), or of who asks for it (`r`)."""
    return f"{kind}{case}.{number}-{check(case, number):04x}"


def names_in(data: bytes | bytearray) -> set[tuple[str, int, int]]:
    """All names in what was received: kind, case and number."""
    return {
        (kind.decode(), int(case), int(number))
        for kind, case, number, told in _NAME.findall(data)
        if int(told, 16) == check(int(case), int(number))
    }
