"""Copies of the protocols of this project, as files of somebody's own."""

from __future__ import annotations

import ast
from pathlib import Path

from zabspec.protocols.registry import NAMES, PROTOCOLS

TOP = Path(__file__).parents[1]
ELSEWHERE = ("variants", "progress", "lab_oracle", "shared_names", "extends")  # what speaks of other modules


def copy_of(name: str, folder: Path, more: str = "") -> str:
    """Write the source of a protocol to a file, with the functions of the modules that it extends.

    Args:
        more: further text, before the protocol is declared.

    Returns:
        The file's path.
    """
    extended = PROTOCOLS[name].declared.extends
    body = source(NAMES[name])
    own = {x.name for x in body if isinstance(x, ast.FunctionDef)}
    before = [x for module in extended for x in source(module)]
    before = [x for x in before if not (isinstance(x, ast.FunctionDef) and x.name in own)]
    body = [x for x in body if not (isinstance(x, ast.ImportFrom) and x.module in extended)]
    whole = [x for x in (*before, *body) if not (isinstance(x, ast.ImportFrom) and x.module == "__future__")]
    last = whole.pop()
    assert isinstance(last, ast.Assign)
    assert isinstance(last.value, ast.Call)
    last.value.keywords = [k for k in last.value.keywords if k.arg not in ELSEWHERE]
    texts = ["from __future__ import annotations", *(ast.unparse(x) for x in whole), more, ast.unparse(last)]
    path = folder / f"{name}_copy.py"
    path.write_text("\n\n".join(texts) + "\n")
    return str(path)


def source(module: str) -> list[ast.stmt]:
    """The statements of a module, without its docstring."""
    return ast.parse((TOP / f"{module.replace('.', '/')}.py").read_text()).body[1:]
