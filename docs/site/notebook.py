"""The pages that are Jupyter notebooks, with their outputs, which `python docs/site/notebook.py FILE...` makes.

A notebook is run in a plain interpreter, without Jupyter: the output of a cell is what it prints and, as there, the
value of its last expression if it is not None.
"""

import ast
import contextlib
import io
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SVG, TEXT = "image/svg+xml", "text/plain"


def run(path: Path) -> dict[str, Any]:
    """Return the notebook with the outputs of its code, run in the folder of the file. Raises what the code raises."""
    document: dict[str, Any] = json.loads(path.read_text())
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(path.parent):
        for number, cell in enumerate(_code(document), 1):
            cell["outputs"] = list(_outputs("".join(cell["source"]), names, number))
            cell["execution_count"] = number
    return document


def to_markdown(document: Mapping[str, Any]) -> str:
    """Return a notebook as Markdown, with its outputs."""
    blocks = []
    for cell in document["cells"]:
        source = "".join(cell["source"])
        blocks.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        blocks += [_shown(output) for output in cell.get("outputs", ())]
    return "\n\n".join(blocks) + "\n"


def setup(app: Any) -> Mapping[str, bool]:
    """Register this extension with Sphinx."""
    app.add_source_suffix(".ipynb", "markdown")
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}


def _read(app: Any, name: str, source: list[str]) -> None:
    if app.env.doc2path(name).suffix == ".ipynb":
        source[0] = to_markdown(json.loads(source[0]))


def _code(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return (cell for cell in document["cells"] if cell["cell_type"] == "code")


def _outputs(source: str, names: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)  # noqa: S102 - the project's own notebook
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)  # noqa: S307
    if text := printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
    if value is not None:
        data = {TEXT: repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_svg_"):
            data = {SVG: value._repr_svg_().splitlines(keepends=True), TEXT: data[TEXT]}
        yield {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}


def _shown(output: Mapping[str, Any]) -> str:
    data = output.get("data", {})
    if SVG in data:
        lines = "".join(data[SVG]).splitlines()
        return "```{raw} html\n" + "\n".join(line for line in lines if line.strip()) + "\n```"
    return "```text\n" + "".join(data.get(TEXT) or output["text"]).rstrip("\n") + "\n```"


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        made = json.dumps(run(file), indent=1, ensure_ascii=False)
        temporary = file.with_suffix(".tmp")
        temporary.write_text(made + "\n")
        temporary.replace(file)
