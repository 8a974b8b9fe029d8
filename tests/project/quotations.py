"""Find what pages and docstrings quote, and hold it against the papers, or against the record of having done so.

ZABCHECK_PAPERS=FOLDER python -m tests.project.quotations     hold all of it against the texts there, and record it
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from checker.ci.shipped import gallery
from tests.project.pages import PAGES, TOP, text_of, without_fences

RECORD = TOP / "tests/data/quotations.json"
FOLDER = "ZABCHECK_PAPERS"  # names a folder with the texts of the papers, *.txt
GUIDES = ("how-to", "tutorials")  # what they quote are reports
FEWEST = 3  # words: what is shorter is a word in quotation marks
CODE = re.compile(r"`[^`]*`")
QUOTED = re.compile(r'"([^"]+)"')
SIGNS = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "ﬁ": "fi", "ﬂ": "fl", "′": "'"})


def plain(text: str) -> str:
    """Return a text with plain signs, divided words joined (COM-MIT in a scan, too), and one blank between words."""
    text = re.sub(r"(\w)-\n(\w)|([A-Z])-([A-Z]{2})", r"\1\2\3\4", text.translate(SIGNS).replace("…", "..."))
    return " ".join(text.split())


def without_marks(page: str) -> str:
    """Return a page without the marks of its block quotes, which begin a line."""
    return re.sub(r"^> ?", "", page, flags=re.MULTILINE)


def sources() -> Iterator[tuple[str, str]]:
    """Yield each text that may quote, with the name of its file: pages, entries of the gallery, docstrings."""
    for page in (page for page in PAGES if page.parent.name not in GUIDES):
        yield page.relative_to(TOP).as_posix(), without_marks(without_fences(text_of(page)))
    for check in gallery().matrix.checks:
        yield f"the gallery's {check.name}", " ".join((check.claim, check.why, check.story))
    for folder in ("zabspec", "invariants", "examples"):
        for file in sorted((TOP / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                    yield file.relative_to(TOP).as_posix(), ast.get_docstring(node) or ""


def quotations() -> Iterator[tuple[str, str]]:
    """Yield each quotation, with the name of its file."""
    for file, text in sources():
        for paragraph in re.split(r"\n\s*\n", text):
            for found in QUOTED.findall(CODE.sub("", paragraph)):
                if len(found.split()) >= FEWEST:
                    yield file, plain(found)


def digest(quotation: str) -> str:
    return hashlib.sha256(quotation.encode()).hexdigest()[:20]


def is_in(quotation: str, paper: str) -> bool:
    """Return whether a paper has a quotation, letter by letter, but for what it marks as left out or changed.

    `...` and `[...]` are left out; `[W]e` changes one letter's case. The last sign may be the quoting sentence's.
    """
    parts = re.split(r" *(?:\[\.\.\.\]|\.\.\.) *", quotation.rstrip(".,;? "))
    patterns = (re.sub(r"\\\[(\w)\\\]", r"(?i:\1)", re.escape(part)) for part in parts if part)
    return re.search(r"(?<!\w)" + ".*?".join(patterns) + r"(?!\w)", paper) is not None


def papers() -> list[str]:
    """Return the texts of the papers; an empty list if nothing says where they are."""
    folder = os.environ.get(FOLDER)
    return [plain(file.read_text(encoding="utf-8")) for file in sorted(Path(folder).glob("*.txt"))] if folder else []


def main() -> int:
    there = papers()
    if not there:
        print(f"set {FOLDER} to a folder with the texts of the papers", file=sys.stderr)
        return 2
    known = {digest(q) for _, q in quotations() if any(is_in(q, paper) for paper in there)}
    RECORD.write_text(json.dumps(sorted(known), indent=0) + "\n", encoding="utf-8")
    for file, quotation in quotations():
        if digest(quotation) not in known:
            print(f"{file}: {quotation}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
