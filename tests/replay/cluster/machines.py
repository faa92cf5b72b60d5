"""What the workers of the tests evaluate. It is pickled by name, as the functions of the product are."""

import os
from pathlib import Path


def square(n: int) -> tuple[int, int]:
    return n * n, os.getpid()


def die_once(mark: Path, n: int) -> tuple[int, int]:
    """End the process that evaluates this for 3, unless one has ended before; so its mark says."""
    if n == 3 and not mark.exists():
        mark.touch()
        os._exit(1)
    (mark.parent / f"{n}").open("a").write(".")
    return square(n)


def always_die(_: int) -> None:
    os._exit(1)


def read_nothing(path: str) -> str:
    return Path(path).read_text()


def refuse(n: int) -> int:
    raise ValueError(f"no value of {n}")
