"""Published models, written here from their algorithms: as many states as their authors and TLC count."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.transcript import compare

FOLDER = Path(__file__).with_name("published")


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.txt")))
def test_a_published_model_has_the_states_that_are_published(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    compare(FOLDER / f"{name}.txt", tmp_path, request)
    said = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    count, kind = re.findall(r"([\d,]+) (states|orbits) are (?:published|counted by TLC)", said)[0]
    reported = said.partition("$ ")[2]
    assert f" {count} {kind}" in reported or f" {count}\n" in reported, count
