"""Run docs/tutorials/notebook.ipynb as a notebook does, without Jupyter.

python -m tests.project.tutorial     runs it, and writes what its cells show into it
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorials" / "notebook.ipynb"


def read() -> dict[str, Any]:
    """Return the notebook."""
    notebook: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return notebook


def shown_by(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Run the cells of code in order, in an empty folder; return what each shows, as the notebook keeps it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return [shown(cell, names) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        finally:
            os.chdir(before)


def shown(cell: dict[str, Any], names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell: what it prints, and its last expression as text and, if it has one, as HTML."""
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # type: ignore[attr-defined]
    out: list[dict[str, Any]] = []
    if printed.getvalue():
        out.append({"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())})
    if value is not None:
        html = value._repr_html_() if hasattr(value, "_repr_html_") else None
        data = {"text/plain": lines(repr(value))} | ({"text/html": lines(html)} if html else {})
        out.append({"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data})
    return out


def lines(text: str) -> list[str]:
    """Return text as notebooks keep it."""
    return text.splitlines(keepends=True)


def main() -> None:
    """Write what the cells show into the notebook."""
    notebook = read()
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell, outputs in zip(code, shown_by(notebook), strict=True):
        cell["outputs"] = outputs
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
