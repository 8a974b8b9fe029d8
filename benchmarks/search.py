"""Measure how long random search takes to find the violation of each unsafe variant of zab.

It keeps the table of benchmarks/results/search.json:

    python -m benchmarks.search --seeds 20 --first 3000

Three transactions, three timeouts, two crashes, two lost connections; compilation is not counted. Seeds are random
unless --first sets them: nothing was chosen by them.
"""

from __future__ import annotations

import argparse
import secrets

from benchmarks.figures import Figures
from checker.search.code import SearchCode
from checker.search.search import RandomSearch
from invariants import properties_of
from zabspec.model import Configuration, Model
from zabspec.protocols.zab_variants import VARIANTS

LIMIT = 30.0  # seconds


def main() -> None:
    """Measure the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, help="the first seed; drawn if not given")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("variants", nargs="*", default=[v.name for v in VARIANTS.values() if not v.safe])
    given = parser.parse_args()
    first = secrets.randbelow(2**31) if given.first is None else given.first
    judged = [p for p in properties_of("zab") if p.default and p.judges("zab")]
    print(f"seeds {first} to {first + given.seeds - 1}, {LIMIT:g} s each")
    kept = Figures("search", "variants", ("variant", "found, median, slowest"))
    for name in given.variants:
        code = SearchCode(Model(Configuration(txns=3, timeouts=3, crashes=2, losses=2, variant=name)), judged)
        kept.add(name, timed(code, range(first, first + given.seeds), given.threads))


def timed(code: SearchCode, seeds: range, threads: int) -> str:
    """Return in how many of the seeds it was found, and how long that took."""
    runs = [RandomSearch(code, seed, threads).run(LIMIT) for seed in seeds]
    found = sorted(run.seconds for run in runs if run.broken)
    if not found:
        return f"0 of {len(runs)}"
    return f"{len(found)} of {len(runs)}, {found[len(found) // 2]:.2f} s, {found[-1]:.2f} s"


if __name__ == "__main__":
    main()
