"""Write the matrix of ZooKeeper's bugs and releases as the data file that the page of these bugs shows.

    zabcheck zookeeper --matrix cells.jsonl
    python -m benchmarks.zookeeper_matrix cells.jsonl > docs/explanation/zookeeper-releases.toml

Cells of another version of the text are refused, and so is a matrix with cells that are not known.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from checker.zookeeper.matrix import BUGS, RELEASES, Cell, read

HEAD = """\
# Which release has which bug: `zabcheck zookeeper --matrix FILE`, {day}, three servers, merged steps, each row's
# budgets. Written by `python -m benchmarks.zookeeper_matrix FILE`; costs: benchmarks/results/zookeeper-rows.md.
# `occurs`: after how many steps the bug's mechanism occurs first; 0: it does not, explored to the end.
# `breaks`: after how many steps the row's property is violated; 0: it holds, explored to the end.
# `by_it`: whether the mechanism occurs in that run; otherwise another bug does the harm.
"""


def written(cells: Mapping[tuple[str, str], Cell], day: str) -> str:
    """Return the matrix as TOML.

    Args:
        day: when it was asked, for the first line.

    Raises:
        SystemExit: a cell is missing, or not known.
    """
    wanted = [(row.issue, release) for row in BUGS for release in RELEASES]
    lacking = [key for key in wanted if key not in cells or cells[key].trouble]
    if lacking:
        sys.exit(f"{len(lacking)} cells are not known, {lacking[0]} among them")

    def part(name: str, of: Callable[[Cell], object]) -> str:
        lines = (
            f"{row.issue} = [{', '.join(str(of(cells[row.issue, release])).lower() for release in RELEASES)}]"
            for row in BUGS
        )
        return "\n".join((f"[{name}]", *lines))

    releases = ", ".join(f'"{release}"' for release in RELEASES)
    parts = (
        part("occurs", lambda c: c.occurs),
        part("breaks", lambda c: c.depth),
        part("by_it", lambda c: c.by_it),
    )
    return "\n\n".join((HEAD.format(day=day).rstrip(), f"releases = [{releases}]", *parts))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(written(read(Path(sys.argv[1])), time.strftime("%-d %B %Y")))
