"""Read a page: its Markdown, its headings and their anchors."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

TOP = Path(__file__).parents[2]
DOCS = TOP / "docs"
PAGES = [
    *(
        page
        for folder in ("tutorials", "how-to", "reference", "explanation")
        for suffix in ("md", "ipynb")
        for page in sorted((DOCS / folder).glob(f"*.{suffix}"))
    ),
    DOCS / "README.md",
    DOCS / "on-the-index.md",
]


def text_of(file: Path) -> str:
    """Return the Markdown of a page; of a notebook, its Markdown, and as examples the code that has output."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".ipynb":
        return text
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["outputs"]:  # tests/project/test_tutorial.py checks it
            parts.append(f"<!-- example: a cell -->\n```python\n{source}\n```")
    return "\n\n".join(parts)


def without_fences(text: str) -> str:
    """Return a page without its fenced blocks and comments; each line keeps its number."""
    text = re.sub(r"^( *)(```|~~~).*?^\1\2[^\n]*$", blank, text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"<!--.*?-->", blank, text, flags=re.DOTALL)


def blank(found: re.Match[str]) -> str:
    """Return as many empty lines as were found."""
    return "\n" * found[0].count("\n")


def headings(text: str) -> list[str]:
    """Return the headings of a page, with their marks."""
    return re.findall(r"^#{1,6} .*$", without_fences(text), flags=re.MULTILINE)


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading, as code hosts and the site make it."""
    words = re.sub(r"^#+ ", "", heading).strip().lower()
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", words).replace("`", "")
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


@cache
def anchors(file: Path) -> list[str]:
    """Return the anchors of a page: of its headings, a repeated one numbered, and those written as HTML."""
    text, seen = text_of(file), Counter[str]()
    names = list(map(anchor_of, headings(text)))
    for k, name in enumerate(names):
        seen[name] += 1
        names[k] = name if seen[name] == 1 else f"{name}-{seen[name] - 1}"
    return names + re.findall(r'<a (?:id|name)="([^"]+)"', text)
