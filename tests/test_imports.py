"""The layers hold, and what is pure stays pure: no I/O, no clock, no randomness, no logging."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

STANDARD_LIBRARY = {
    "abc", "array", "base64", "bisect", "collections", "contextlib", "copy", "dataclasses", "datetime", "decimal",
    "difflib", "enum", "fractions", "functools", "hashlib", "heapq", "hmac", "html", "http", "ipaddress", "itertools",
    "json", "math", "operator", "re", "statistics", "string", "struct", "textwrap", "types", "typing", "unicodedata",
    "urllib.parse",
}
"""What pure code may import of it; everything that reads, writes, waits, draws lots or knows the time is left out."""

POLICIES = STANDARD_LIBRARY | {"numpy", "scipy", "bestbefore.policies"}
CORE = POLICIES | {
    "http_sf", "publicsuffixlist",
    "bestbefore.addon.charts", "bestbefore.addon.domain", "bestbefore.addon.engine", "bestbefore.addon.feeds",
    "bestbefore.addon.rfc9111", "bestbefore.addon.rules", "bestbefore.addon.week_times",
    "bestbefore.addon.prefetch_limits",
}
FEEDS = CORE | {"brotli", "codecs", "lxml", "xml.parsers.expat", "zlib"}

IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "now", "utcnow", "today", "default_rng"}
"""What a pure module must not call even of what it may import, as a name or as an attribute."""

PURE_FILES = [
    *((path, POLICIES) for path in sorted((ROOT / "policies").rglob("*.py"))),
    *(
        (path, CORE)
        for folder in ("charts", "engine", "rfc9111")
        for path in sorted((ROOT / "addon" / folder).rglob("*.py"))
    ),
    *((path, FEEDS) for path in sorted((ROOT / "addon" / "feeds").rglob("*.py"))),
    *((ROOT / "addon" / name, CORE) for name in ("rules.py", "prefetch_limits.py", "week_times.py", "domain.py")),
]

pure_files = pytest.mark.parametrize(
    ("path", "allowed"), PURE_FILES, ids=[str(path.relative_to(ROOT)) for path, _ in PURE_FILES]
)


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line and the full name of each module, or name of a module, that is imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{'.' * node.level}{node.module}.{alias.name}") for alias in node.names)


def called(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line and the last part of the name of each function that is called."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
                yield node.lineno, name


def is_allowed(name: str, allowed: set[str]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in allowed)


@pure_files
def test_a_pure_module_imports_only_what_is_pure(path: Path, allowed: set[str]) -> None:
    tree = ast.parse(path.read_text())
    assert [(line, name) for line, name in imported(tree) if not is_allowed(name, allowed)] == []


@pure_files
def test_a_pure_module_neither_reads_nor_writes_nor_asks_the_time(path: Path, allowed: set[str]) -> None:
    tree = ast.parse(path.read_text())
    assert [(line, name) for line, name in called(tree) if name in IMPURE_CALLS] == []


def test_the_check_finds_what_is_not_allowed() -> None:
    tree = ast.parse("import os.path\nfrom urllib import parse, request\nfrom .x import y\ndatetime.now()\nopen('x')")
    assert [name for _, name in imported(tree) if not is_allowed(name, CORE)] == ["os.path", "urllib.request", ".x.y"]
    assert {name for _, name in called(tree)} == {"now", "open"}


def test_imports_go_downwards_only() -> None:
    script = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", script, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@cache
def names_at_the_top(path: Path) -> set[str]:
    """What another module may import from this one: what it defines or imports."""
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.TypeAlias(name=ast.Name(id=name)):
                names.add(name)
            case ast.Import() | ast.ImportFrom():
                names.update(alias.asname or alias.name for alias in node.names)
    return names


def test_programs_run_by_hand_import_only_names_that_exist() -> None:
    # Neither the tests nor mypy load them: a name that was moved would be noticed at the next measurement.
    missing = []
    for path in [*(ROOT / "tests" / "bench").rglob("*.py"), *(ROOT / "tests" / "fuzz").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("bestbefore."):
                continue
            module = ROOT.joinpath(*str(node.module).split(".")[1:])
            file = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
            known = names_at_the_top(file) if file.exists() else set()
            known |= {inner.stem for inner in module.iterdir()} if module.is_dir() else set()
            missing += [f"{path.name}:{node.lineno}: {name.name}" for name in node.names if name.name not in known]
    assert not missing
