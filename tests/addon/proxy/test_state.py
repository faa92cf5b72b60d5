"""docs/state.md names all state that decides for clients, where it is, and whom it holds for."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.settings import Settings
from bestbefore.addon.proxy.state import WorkerState

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "state.md").read_text()
ROW = re.compile(r"^\| (?P<what>[^|]+) \| (?P<classes>`[^|]+) \| (?P<scope>[^|]+) \|", re.MULTILINE)
PLACE = re.compile(r"`(?P<name>\w+)` in `(?P<path>[\w/]+\.py)`")
HOLDS = frozenset(("LRUCache", "TTLCache", "dict", "set", "Counter", "deque"))


def scopes() -> dict[str, str]:
    """The scope of each class in the page's table."""
    return {place["name"]: row["scope"] for row in ROW.finditer(PAGE) for place in PLACE.finditer(row["classes"])}


def holding(folder: str) -> Iterator[str]:
    """The classes of a folder whose instances begin with a mapping or a set that is filled later."""
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                made = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
                if any(map(_is_held, (value for part in made for value in _assigned(part)))):
                    yield node.name


def _assigned(function: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            yield node.value


def _is_held(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).partition("[")[0] in HOLDS
    return isinstance(value, ast.Dict | ast.Set)


@pytest.mark.parametrize("folder", ["addon/proxy", "addon/prefetcher", "addon/store/cache", "addon/config"])
def test_every_class_that_holds_something_is_on_the_page(folder: str) -> None:
    assert [name for name in holding(folder) if f"`{name}`" not in PAGE] == []


def test_the_page_names_classes_that_are_there_and_one_of_four_scopes() -> None:
    assert len(scopes()) > 15
    assert set(scopes().values()) == {"worker", "machine", "store", "channel"}
    for place in PLACE.finditer(PAGE):
        assert f"class {place['name']}" in (ROOT / place["path"]).read_text(), place["name"]


def test_what_is_made_for_a_worker_has_that_scope() -> None:
    made = [kind.__name__ for kind in get_type_hints(WorkerState).values()]
    assert {scopes().get(name) for name in made} == {"worker"}


def test_workers_share_only_the_bound_on_content_in_flight(tmp_path: Path) -> None:
    settings = Settings(state=tmp_path)
    one, other = (WorkerState.of(settings, 1024, RealClock().monotonic, lambda _: None) for _ in range(2))
    assert all(getattr(one, name) is not getattr(other, name) for name in WorkerState.__slots__)
    assert one.budget.memory_bytes == settings.in_flight_max
    divided = WorkerState.of(settings, 1024, RealClock().monotonic, lambda _: None, workers=4)
    assert divided.budget.memory_bytes == settings.in_flight_max // 4
