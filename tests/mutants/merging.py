"""`python -m tests.mutants.merging --seed S --count N`: mutants of `zab`, searched merged and in full.

A merging search (docs/explanation/reductions.md, "Observer classes") rests on what is derived. So the text
is changed at random, one small edit at a time, and both searches are compared: what is broken, what is not, and which
premises are met. `--some` draws one to four properties for each mutant; what the others would cut off is followed then.

    python -m tests.mutants.merging --seed 1 --count 150 --budgets 2,1,0 1,2,0 1,1,1     transactions, timeouts, crashes

Exit code 0: nothing that the full search contradicts, 1: something, 2: the question was wrong. A mutant that the
language refuses is passed over, and so is a full search of more states than `MOST`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.mutate.edits import mutants_of

if TYPE_CHECKING:
    from invariants.registry import Property
    from zabspec.model import Configuration

ROOT = Path(__file__).parents[2]
COPIED = ("zabspec", "zabcheck", "checker", "invariants", "traces", "tests")
TEXT = "zabspec/zab.py"
MOST = 1_500_000  # states


def mutated(text: str, seed: int) -> tuple[str, str]:
    """Return a mutant of the protocol's text, and the edit in a sentence."""
    mutant = random.Random(seed).choice([m for m in mutants_of(TEXT, text) if m.inside])
    return mutant.applied(text), mutant.sentence


def compared(configuration: Configuration, properties: Sequence[Property]) -> dict[str, Any]:
    """Compare both searches of the protocol as it stands."""
    from checker.explore.ample import AmpleExplorer, Narrowing, conclusive
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from checker.explore.deliveries import AtDelivery, DeliveryModel
    from checker.explore.reducible import why_not_narrowed
    from checker.explore.result import Limits
    from zabspec.model import Model

    model, limits = Model(configuration), Limits(max_states=MOST)
    if why := why_not_narrowed(model):
        return {"passed over": why}
    full = Explorer(Compiled(model, properties, True), 1).run(limits)
    if full.stopped:
        return {"passed over": full.stopped}
    code = Narrowing(model, properties, True)
    search = AmpleExplorer(code, 1)
    less = search.run(limits)
    broken, suspected = bool(full.violations or full.error), bool(less.violations or less.error or less.suspected)
    wrong = ""
    if less.complete and not less.apart and not suspected and broken:
        wrong = f"nothing is suspected, and {', '.join(full.violations) or full.error} is broken"
    elif conclusive(less) and full.witnessed.keys() != less.witnessed.keys():
        wrong = f"premises differ: {', '.join(sorted(full.witnessed.keys() ^ less.witnessed.keys()))}"
    elif suspected and not broken:
        wrong = f"{', '.join(less.suspected) or less.error} is suspected, and nothing is broken"
    at = AtDelivery.of(model, properties, ())
    replaced, believed, fewer = bool(at.replaced), False, 0
    if replaced:
        search = AmpleExplorer(Narrowing(DeliveryModel(configuration), at.asked, True, ()), 1)
        r = search.run(limits)
        believed, fewer = at.believed(r) and not search.unforeseen, r.distinct
        suspected = bool(r.violations or r.error or r.suspected)
        if believed and r.complete and not r.apart and broken != suspected:
            wrong = wrong or f"judged at deliveries {'something' if suspected else 'nothing'} is broken"
    return {
        "full": full.distinct, "merging": less.distinct, "broken": broken, "merged": bool(less.merged),
        "conclusive": conclusive(less), "unforeseen": search.unforeseen, "replaced": replaced, "believed": believed,
        "at deliveries": fewer, "wrong": wrong,
    }  # fmt: skip


def child(seed: int, budgets: Sequence[str], some: bool) -> dict[str, Any]:
    """Compare both searches of this tree, at each of the budgets."""
    from tests.models import judged
    from zabspec.model import Configuration

    properties: Sequence[Property] = judged("zab")
    if some:
        draw = random.Random(f"{seed} some")
        names = draw.sample([p.name for p in properties], draw.choice((1, 1, 2, 4)))
        properties = [p for p in properties if p.name in names]
    out: dict[str, Any] = {"asked": [p.name for p in properties] if some else []}
    for budget in budgets:
        txns, timeouts, crashes = map(int, budget.split(","))
        configuration = Configuration(nodes=3, txns=txns, timeouts=timeouts, crashes=crashes, losses=0)
        out[budget] = compared(configuration, properties)
    return out


def in_copy(folder: Path, seed: int, budgets: Sequence[str], some: bool) -> dict[str, Any]:
    """Change the copy of the product, and compare there."""
    text, sentence = mutated((ROOT / TEXT).read_text("utf-8"), seed)
    (folder / TEXT).write_text(text, "utf-8")
    asks = [sys.executable, "-B", "-m", "tests.mutants.merging", "--child", "--seed", str(seed), "--budgets", *budgets]
    environment = {**os.environ, "PYTHONPATH": str(folder), "ZABCHECK_CACHE": str(folder / "cache")}
    done = subprocess.run(
        [*asks, *["--some"] * some], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    shutil.rmtree(folder / "cache", ignore_errors=True)
    said = json.loads(done.stdout) if done.returncode == 0 else {"refused": done.stderr.strip().splitlines()[-1][:200]}
    return {"seed": seed, "mutant": sentence, **said}


def main() -> int:
    """Run the comparison; returns the exit code."""
    asks = argparse.ArgumentParser(prog="python -m tests.mutants.merging", description=__doc__.split("\n")[0])
    asks.add_argument("--seed", type=int, default=1, help="the first seed")
    asks.add_argument("--count", type=int, default=1, help="how many mutants")
    asks.add_argument("--budgets", nargs="+", default=["2,1,0", "1,1,1"], metavar="TXNS,TIMEOUTS,CRASHES")
    asks.add_argument("--some", action="store_true", help="judge one to four properties, drawn for each mutant")
    asks.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = asks.parse_args()
    if given.child:
        print(json.dumps(child(given.seed, given.budgets, given.some)))
        return 0
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in COPIED:
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "data"))
        for seed in range(given.seed, given.seed + given.count):
            found = in_copy(folder, seed, given.budgets, given.some)
            print(json.dumps(found), flush=True)
            counts["mutants"] += 1
            counts["refused"] += "refused" in found
            for one in (found[b] for b in given.budgets if b in found):
                counts["passed over"] += "passed over" in one
                counts["compared"] += "wrong" in one
                for what in ("broken", "merged", "conclusive", "unforeseen", "replaced", "believed", "wrong"):
                    counts[what] += bool(one.get(what))
    print(", ".join(f"{what} {n}" for what, n in counts.items()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
