"""`python -m tests.second --seed S --count N`: random protocols, every engine against the reference semantics.

    python -m tests.second --seed 0 --count 100
    python -m tests.second --seed 0 --count 5000 --jobs 2 --results campaign.jsonl     goes on where it was stopped
    python -m tests.second --seed 17 --count 1 --engines compiled,tlc --shrink          a small text with the difference
    python -m tests.second --seed 17 --show                                             the protocol and its request

Exit code 0: no difference, 1: some, 2: the question was wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.second.generator import protocol
from tests.second.harness.campaign import campaign, coverage_lines, summary
from tests.second.harness.checking import ENGINES, REDUCTIONS, USUAL


def main() -> int:
    """Run a campaign; returns the exit code."""
    asks = argparse.ArgumentParser(prog="python -m tests.second", description=__doc__.split("\n")[0])
    asks.add_argument("--seed", type=int, default=0, help="the first seed")
    asks.add_argument("--count", type=int, default=1, help="how many")
    asks.add_argument("--engines", default=",".join(USUAL), help=f"of {', '.join((*ENGINES, *REDUCTIONS))}, or all")
    asks.add_argument("--jobs", type=int, default=1, help="processes")
    asks.add_argument("--results", type=Path, help="a file, a line each, from which it is resumed")
    asks.add_argument("--shrink", action="store_true", help="make what differs smaller, as long as it differs")
    asks.add_argument("--show", action="store_true", help="print the protocol, and check nothing")
    asks.add_argument("--until-different", action="store_true", help="stop at the first difference")
    asks.add_argument(
        "--having", default="", metavar="REGEX", help="check only protocols whose source or request match"
    )
    asks.add_argument("--coverage", action="store_true", help="print the whole table of what was covered")
    given = asks.parse_args()
    engines = ENGINES if given.engines == "all" else tuple(given.engines.split(","))
    if unknown := set(engines) - {*ENGINES, *REDUCTIONS}:
        asks.error(f"there is no engine {', '.join(sorted(unknown))}")
    if given.show:
        made = protocol(given.seed)
        print(made.text, json.dumps(made.request, indent=1), sep="\n")
        return 0
    outcomes = campaign(
        given.seed, given.count, engines, given.jobs, given.results, given.until_different, given.having
    )
    if given.shrink:
        from tests.second.harness.shrinking import shrunk

        for outcome in outcomes:
            if outcome.differences:
                print(*shrunk(outcome, engines), sep="\n")
    print(*summary(outcomes), sep="\n")
    lines = coverage_lines(outcomes)
    print(*(line for line in lines if given.coverage or "LOW" in line or not line.startswith("  ")), sep="\n")
    return 1 if any(o.status in ("differs", "failed") for o in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
