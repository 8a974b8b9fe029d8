"""The figures of benchmarks: each table says how it was measured, and pages show what the files have."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from benchmarks.figures import RESULTS, Figures, as_text
from tests.project.test_project import PAGES

TOP = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("regenerate_figures", TOP / "docs/regenerate.py")
assert SPEC is not None
assert SPEC.loader is not None
regenerate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(regenerate)
FILES = sorted(RESULTS.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_table_says_how_it_was_measured_and_is_named_on_a_page(path: Path) -> None:
    tables = json.loads(path.read_text(encoding="utf-8"))
    assert path.read_text(encoding="utf-8") == as_text(tables)
    for name, one in tables.items():
        assert one.keys() <= {"command", "date", "machine", "versions", "head", "rows"}, name
        assert all((one["command"], one["date"], one["machine"], one["head"])), name
        assert {len(row) for row in one["rows"]} <= {len(one["head"])}, name
        for module in re.findall(r"python (?:-m )?(benchmarks[./][\w.]+)", one["command"]):
            place = TOP / module.removesuffix(".py").replace(".", "/")
            assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), one["command"]
    pages = "".join(page.read_text(encoding="utf-8") for page in RESULTS.glob("*.md"))
    assert f"({path.name})" in pages or f"<!-- figures: {path.stem} " in pages


def test_pages_show_what_the_files_have() -> None:
    shown = [page for page in PAGES if "<!-- figures: " in page.read_text(encoding="utf-8")]
    assert len(shown) > 5
    for page in shown:
        text = page.read_text(encoding="utf-8")
        assert regenerate.with_figures(text) == text, page
        assert text.count("<!-- figures: ") == len(regenerate.FIGURES.findall(text)), page


def test_a_benchmark_keeps_each_row_and_the_page_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Figures("speed", "before", ("a",), tmp_path).add("kept")
    kept = Figures("speed", "now", ("model", "states"), tmp_path)
    kept.add("zab | 3", 12345)
    with pytest.raises(ValueError, match="1 cells in a table of 2 columns"):
        kept.add("zab")
    assert json.loads((tmp_path / "speed.json").read_text())["before"]["rows"] == [["kept"]]
    monkeypatch.setattr(regenerate, "RESULTS", tmp_path)
    page = regenerate.with_figures("<!-- figures: speed now -->\nold\n<!-- end -->\n")
    assert "\n| model | states |\n| --- | --- |\n| zab \\| 3 | 12,345 |\n\n`python -m " in page
    assert re.search(r"`; \d{4}-\d\d-\d\d; \d+ cores, \d+ GiB, load \d+\.\n<!-- end -->\n$", page)
