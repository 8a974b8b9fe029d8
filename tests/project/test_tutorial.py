"""docs/tutorials/notebook.ipynb runs, and shows what it has."""

from __future__ import annotations

from typing import Any

import pytest

from tests.project.tutorial import read, shown_by


def said(outputs: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    """What outputs say, and whether each has HTML beside it, which names the version and may differ by that."""
    return [
        ("".join(one.get("text") or one["data"]["text/plain"]), "text/html" in one.get("data", {})) for one in outputs
    ]


@pytest.mark.slow(seconds=2)
def test_the_tutorial_shows_what_its_cells_show() -> None:
    """If it has changed for good: `python -m tests.project.tutorial`."""
    notebook = read()
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = shown_by(notebook)
    assert [said(outputs) for outputs in shown] == [said(cell["outputs"]) for cell in cells]
    drawn = [
        "".join(one["data"]["text/html"]) for outputs in shown for one in outputs if "text/html" in one.get("data", {})
    ]
    assert len(drawn) == 2  # an answer as its table, and a trace as its picture
    assert "<table" in drawn[0]
    assert "<svg" in drawn[1]
