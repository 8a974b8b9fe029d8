"""`python -m tests.second --seed S --count N`: random protocols, every engine against the reference semantics.

    python -m tests.second --seed 0 --count 100
    python -m tests.second --seed 0 --count 5000 --jobs 2 --results campaign.jsonl     goes on where it was stopped
    python -m tests.second --seed 17 --count 1 --engines compiled,tlc --shrink          a small text with the difference
    python -m tests.second --seed 1000000 --count 100   from this seed on with sets of processes in every place
    python -m tests.second --seed 17 --show                                             the protocol and its request
    python -m tests.second --seed 0 --count 100 --favour "join,connections fifo: crash_electing" --results more.jsonl
                                                                    protocols in which these steps can occur
    python -m tests.second --seed 0 --count 5000 --results campaign.jsonl --coverage --add more.jsonl
                                                                    what both have covered

Exit code 0: no difference, 1: some, 2: the question was wrong. An engine that has no answer within its limits is
undecided: no difference, and not the same.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.second.generator.favoured import NEEDS, drawn, need_of
from tests.second.harness.campaign import campaign, coverage_lines, done_before, summary
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
    asks.add_argument(
        "--favour", default="", metavar="STEP,...", help="draw protocols in which these can occur, each in its turn: "
        f"{', '.join(NEEDS)}; together in one protocol: join+crash_electing; over a network: connections fifo: join",
    )  # fmt: skip
    asks.add_argument("--coverage", action="store_true", help="print the whole table of what was covered")
    asks.add_argument(
        "--add", type=Path, action="append", default=[], metavar="FILE", help="results whose coverage counts too"
    )
    given = asks.parse_args()
    favour = tuple(given.favour.split(",")) if given.favour else ()
    try:
        for wanted in favour:
            need_of(wanted)
    except ValueError as problem:
        asks.error(str(problem))
    if missing := [str(file) for file in given.add if not file.is_file()]:
        asks.error(f"there is no {' and no '.join(missing)}")
    engines = ENGINES if given.engines == "all" else tuple(given.engines.split(","))
    if unknown := set(engines) - {*ENGINES, *REDUCTIONS}:
        asks.error(f"there is no engine {', '.join(sorted(unknown))}")
    if given.show:
        made = drawn(given.seed, favour)
        print(made.text, json.dumps(made.request, indent=1), sep="\n")
        return 0
    outcomes = campaign(
        given.seed, given.count, engines, given.jobs, given.results, given.until_different, given.having, favour
    )
    if given.shrink:
        from tests.second.harness.shrinking import shrunk

        for outcome in outcomes:
            if outcome.differences:
                print(*shrunk(outcome, engines, favour), sep="\n")
    print(*summary(outcomes), sep="\n")
    lines = coverage_lines(outcomes, [done_before(file) for file in given.add])
    print(*(line for line in lines if given.coverage or "LOW" in line or not line.startswith("  ")), sep="\n")
    return 1 if any(o.status in ("differs", "failed") for o in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
