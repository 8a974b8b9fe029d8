"""Quotations on pages and in docstrings have the papers' words, letter by letter."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from tests.project import quotations
from tests.project.pages import PAGES, TOP, text_of, without_fences
from tests.project.quotations import RECORD, digest, is_in, plain

# What stands in quotation marks and is no paper's: words of reports, this project's own terms.
OTHERS = {"holds (18 of 21)", "every quorum has a member that ..."}


def test_every_quotation_was_held_against_the_papers() -> None:
    """`ZABCHECK_PAPERS=FOLDER python -m tests.project.quotations` holds and records them."""
    recorded = set(json.loads(RECORD.read_text(encoding="utf-8")))
    quoted = ((file, q) for file, q in quotations.quotations() if q not in OTHERS)
    assert sorted((file, q) for file, q in quoted if digest(q) not in recorded) == []
    assert len(recorded) > 50


def test_a_quotation_is_compared_letter_by_letter() -> None:
    paper = plain(
        "The leader\nbroad-\ncasts <v, z>,\nand all followers “accept” it. The COM-MIT fol-\nlows, later than f.p."
    )
    for right in (
        "The leader broadcasts <v, z>", "[t]he leader ... accept", "all followers 'accept'".replace("'", '"'),
        "COMMIT follows, later than f.p.", "leader [...] and all followers",
    ):  # fmt: skip
        assert is_in(right, paper), right
    for wrong in (
        "the leader broadcasts", "leader broadcasts <v, z>, > and all", "leader ... broadcasts all", "eader broadcasts",
        "later than > f.p.", "accept ... leader", "The leader broadcast",
    ):  # fmt: skip
        assert not is_in(wrong, paper), wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(TOP).as_posix())
def test_a_block_quote_has_its_mark_on_each_line_and_nowhere_else(page: Path) -> None:
    """A reflow left `later than > f.p.` on a page."""
    lines = without_fences(text_of(page)).splitlines()
    for before, line in itertools.pairwise(lines):
        assert not re.match(r">.* > ", line), line
        assert not (before.startswith("> ") and line and not line.startswith(">")), line
