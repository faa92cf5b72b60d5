"""Small changes to a module's source, each of which some test should notice."""

import ast
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
}
_LOGGERS = ("logger", "log", "logging")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the bytes from `start` to `end` of a file become `new`."""

    path: str
    line: int
    start: int
    end: int
    old: str
    new: str
    code: str
    """The line on which it begins."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: `{_short(self.old)}` to `{_short(self.new)}`"

    def applied(self, source: bytes) -> bytes:
        """The source with the change."""
        return source[: self.start] + self.new.encode() + source[self.end :]


def _short(text: str) -> str:
    return " ".join(text.split())[:70]


def drawn(root: Path, folders: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """A sample of mutants, as many from each folder as its share of all, at most one on a line."""
    rng = random.Random(seed)
    by_folder: dict[Path, list[Mutant]] = {}
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            by_folder.setdefault(path.parent, []).extend(mutants(root, path))
    total = sum(map(len, by_folder.values()))
    out: list[Mutant] = []
    for _, found in sorted(by_folder.items()):
        rng.shuffle(found)
        lines = {(mutant.path, mutant.line): mutant for mutant in found}
        out += list(lines.values())[: max(1, round(count * len(found) / total))] if found else []
    return out


def mutants(root: Path, path: Path) -> Iterator[Mutant]:
    """All mutants of a module that can change what it does. Messages, annotations and log lines stay."""
    text = path.read_text()
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    source, name = text.encode(), str(path.relative_to(root))

    def make(line: int, start: int, end: int, new: str) -> Mutant:
        at = bisect_right(starts, start)
        code = source[starts[at - 1] : starts[at]].decode().strip()
        return Mutant(name, line, start, end, source[start:end].decode(), new, code)

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    for node in _executed(ast.parse(text)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            names = _COMPARISONS[type(node.ops[0])]
            yield from _operator(
                source, span(node.left)[1], span(node.comparators[0])[0], names, partial(make, node.lineno)
            )
        elif isinstance(node, ast.BinOp) and not isinstance(node.left, ast.Constant | ast.JoinedStr):
            names = _ARITHMETIC.get(type(node.op), ("", ""))
            yield from _operator(source, span(node.left)[1], span(node.right)[0], names, partial(make, node.lineno))
        elif isinstance(node, ast.BoolOp) and len(node.values) == 2:
            names = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            first, second = node.values
            yield from _operator(source, span(first)[1], span(second)[0], names, partial(make, node.lineno))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield make(node.lineno, span(node)[0], span(node.operand)[0], "")
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value + 1 != node.value:
            new = str(not node.value) if isinstance(node.value, bool) else f"({node.value} + 1)"
            yield make(node.lineno, *span(node), new)
        elif isinstance(node, ast.AugAssign) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
        ):
            yield make(node.lineno, *span(node), "pass")


def _operator(
    source: bytes, start: int, end: int, names: tuple[str, str], make: Callable[[int, int, str], Mutant]
) -> Iterator[Mutant]:
    """The operator between two operands, replaced."""
    at = source.find(names[0].encode(), start, end)
    if names[0] and at >= 0:
        yield make(at, at + len(names[0]), names[1])


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below, without annotations, decorators, assertions, raised messages, log lines and what types need."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "msg"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_silent(child):
                continue
            yield child
            yield from _executed(child)


def _is_silent(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: an assertion
        return True
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.TypeAlias):
        return True
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        return call.func.value.id in _LOGGERS
    return False
