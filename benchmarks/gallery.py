"""Run the gallery and record how long each entry takes.

    python -m benchmarks.gallery [NAME ...] [--all]

Entries that are named are run, or all that take under a minute; `--all`: all. This script never writes what an entry
expects: if something differs, it is reported, nothing is written, and the exit code is 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

from checker.ci.judging import NOT_RUN, CheckOutcome
from checker.ci.selection import result_of
from checker.ci.shipped import MEASURED, gallery


def run(names: Iterable[str], heavy: bool) -> list[CheckOutcome]:
    """Run entries of the gallery; return the outcome of each, those that are left out included."""
    there = gallery()
    left = there.named(names, heavy=heavy)
    return list(result_of(there.matrix, left, "entry").outcomes)


def main() -> int:
    """Run entries, rewrite the pages and the times; return the exit code."""
    words = sys.argv[1:]
    names = [word for word in words if not word.startswith("--")]
    there = gallery()
    outcomes = run(names, "--all" in words)
    wrong = [o for o in outcomes if o.status not in (NOT_RUN, "as expected")]
    for o in wrong:
        print(o.check.name, o.status, *(d.says for d in o.differences), *o.reasons, file=sys.stderr)
    if wrong:
        return 1
    measured = {c.name: c.seconds for c in there.matrix.checks if c.seconds}
    measured |= {o.check.name: round(o.found.cpu_seconds, 1) for o in outcomes if o.found is not None}
    MEASURED.write_text(json.dumps(dict(sorted(measured.items())), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
