"""Choose passages of the project at random, for a reader who has not seen it.

    python -m benchmarks.passages --seed 1 --count 12

Each passage is a paragraph of a page, a docstring of a public function or class, or a message of the product; each of
these kinds has the same chance. The seed decides which passages are chosen. A reader checks that each is understood at
first reading; `benchmarks/results/passages.md` records the verdicts.
"""

from __future__ import annotations

import argparse
import ast
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.project import prose
from tests.project.messages import KEPT, TOP, messages, trees
from tests.project.page_map import without_fences

PAGE, DOCSTRING, MESSAGE = "page", "docstring", "message"
FEWEST_WORDS = 8  # of a paragraph; a shorter one is a link, or the label of a list


@dataclass(frozen=True)
class Passage:
    """A piece of prose that is read alone.

    Attributes:
        kind: PAGE, DOCSTRING or MESSAGE.
        place: file and line; of a docstring, the name of what it describes as well.
        text: as it is written; a paragraph is in one line.
    """

    kind: str
    place: str
    text: str


def paragraphs_of(file: str, text: str) -> Iterator[Passage]:
    """Yield the paragraphs and list items of a page, outside fences, headings and tables."""
    lines = enumerate(without_fences(text).splitlines(), 1)
    for paragraph in prose.paragraphs(text):
        line = next(number for number, line in lines if paragraph.startswith(next(prose.paragraphs(line), "\n")))
        if prose.length(prose.plain(paragraph)) >= FEWEST_WORDS:
            yield Passage(PAGE, f"{file}:{line}", paragraph)


def docstrings_of(file: str, tree: ast.Module | ast.ClassDef, within: str = "") -> Iterator[Passage]:
    """Yield the docstrings of a module's public functions, classes and methods."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if text := ast.get_docstring(node):
                yield Passage(DOCSTRING, f"{file}:{node.lineno} {within}{node.name}", text)
            if isinstance(node, ast.ClassDef):
                yield from docstrings_of(file, node, f"{within}{node.name}.")


def passages() -> dict[str, list[Passage]]:
    """Return all passages of the project, by kind."""
    pages = [TOP / "README.md", TOP / "CONTRIBUTING.md", *sorted((TOP / "docs").rglob("*.md"))]
    return {
        PAGE: [each for page in pages for each in paragraphs_of(str(page.relative_to(TOP)), page.read_text())],
        DOCSTRING: [each for file, tree in trees().items() for each in docstrings_of(file, tree)],
        MESSAGE: [Passage(MESSAGE, f"{m.file}:{m.line}", m.text) for m in messages() if m.file not in KEPT],
    }


def choose(pools: Mapping[str, Sequence[Passage]], seed: int, count: int) -> list[Passage]:
    """Choose passages by a seed: first a kind, each with the same chance, then a passage of it, none twice."""
    draw, left = random.Random(seed), {kind: list(pool) for kind, pool in pools.items()}
    chosen = []
    for _ in range(count):
        pool = left[draw.choice(list(left))]
        chosen.append(pool.pop(draw.randrange(len(pool))))
    return chosen


def main() -> None:
    """Print the chosen passages, each with its kind and place."""
    parser = argparse.ArgumentParser(description="Choose passages of the project at random.")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=12)
    chosen = parser.parse_args()
    for number, each in enumerate(choose(passages(), chosen.seed, chosen.count), 1):
        print(f"--- {number}. {each.kind}: {each.place}\n{each.text}\n")


if __name__ == "__main__":
    main()
