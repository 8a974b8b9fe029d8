"""docs/tutorials/your-first-protocol.md writes what `zabcheck init` writes, and its commands print what it shows."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from checker.commands.init import START
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Exploration, Limits
from invariants import properties_of
from zabspec.model import Configuration, Model

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "tutorials/your-first-protocol.md").read_text(encoding="utf-8")
SPEC = importlib.util.spec_from_file_location("regenerate", DOCS / "regenerate.py")
assert SPEC is not None
assert SPEC.loader is not None
regenerate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(regenerate)


def at_each_command() -> list[tuple[str, str, str]]:
    """Return each command that the page shows with its output: the command, `tpc.py` at that place, the output."""
    shown = re.finditer(r"^```text\n\$ ([^\n]*)\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    seen: list[tuple[str, str, str]] = []
    for fence in shown:
        before = [files for _, files in regenerate.walk(PAGE[: fence.start()])]
        seen.append((fence[1], before[-1].get("tpc.py", "") if before else "", fence[2]))
    return seen


def explored(text: str, folder: Path) -> Exploration:
    path = folder / "tpc.py"
    path.write_text(text, encoding="utf-8")
    judged = [p for p in properties_of(str(path)) if p.default]
    return Explorer(Compiled(Model(Configuration(str(path))), judged, True), 1).run(Limits(), False)


def test_the_page_writes_what_init_writes() -> None:
    *_, (_, files) = regenerate.walk(PAGE)
    assert files == {"tpc.py": START.read_text(encoding="utf-8")}


def test_what_is_wrong_at_first_is_found_and_what_repairs_it_holds(tmp_path: Path) -> None:
    wrong, repaired = (c for c in at_each_command() if c[0] == "zabcheck --protocol tpc.py")
    found = explored(wrong[1], tmp_path)
    assert f"agreement is violated after {len(found.violations['agreement'].schedule)} steps." in wrong[2]
    found = explored(repaired[1], tmp_path)
    assert not found.violations
    assert f"{found.distinct:,} orbits" in repaired[2]


def test_without_its_clauses_it_is_not_inductive_and_with_them_it_is() -> None:
    induct = [(text, said) for command, text, said in at_each_command() if command.startswith("zabcheck induct")]
    assert "@invariant\n" not in induct[0][0]
    assert "agreement is not inductive" in induct[0][1]
    assert re.search(r"(\d+) of \1 proved", induct[-1][1])


def test_a_page_is_walked_in_order() -> None:
    run = "<!-- run: python a.py -->\n```text\nold\n```\n"
    page = f"<!-- write: a.py -->\n```python\nx = 1\nz = 3\n```\n{run}"
    page += "<!-- write: a.py, before: z -->\n```python\ny = 2\n```\n"
    page += f"<!-- change: a.py -->\n```diff\n- x = 1\n+ x = 0\n+ w = 0\n```\n{run}"
    seen = [files["a.py"] for block, now in regenerate.walk(page) for files in [dict(now)] if block["what"] == "run"]
    assert seen == ["x = 1\nz = 3\n", "x = 0\nw = 0\ny = 2\n\n\nz = 3\n"]
    with pytest.raises(ValueError, match="0 times"):
        list(regenerate.walk("<!-- change: a.py -->\n```diff\n- x\n+ y\n```\n"))
