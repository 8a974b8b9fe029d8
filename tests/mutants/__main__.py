"""`python -m tests.mutants FILE...`: which mutants of these files no test kills.

Ends with 0 if every mutant judged was killed, 1 if some survived, 2 if the question was wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .campaign import ROOT, Campaign, Judged, Tree
from .edits import Mutant, mutants_of, sampled
from .killers import Killers, killers_of


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.split("\n\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file, from the top of the tree")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default 1)")
    parser.add_argument("--at-least", type=int, default=80, metavar="N", help="mutants of each file (default 80)")
    parser.add_argument("--all", action="store_true", help="every mutant of each file")
    parser.add_argument("--most", type=int, metavar="N", help="no more than so many of those, drawn again")
    parser.add_argument("--jobs", type=int, default=1, help="mutants judged at once (default 1)")
    parser.add_argument("--again", metavar="LOG", help="only those that survived in a log that --json wrote")
    parser.add_argument("--beyond", metavar="LOG", help="only those that are not in such a log: to go on after a stop")
    parser.add_argument("--json", action="store_true", help="a JSON object for each mutant, in lines")
    parser.add_argument("--list", action="store_true", help="list the mutants, and judge none")
    return parser.parse_args(arguments)


def logged(path: str | None, file: str) -> list[dict[str, Any]]:
    """What a log says of a file's mutants."""
    lines = Path(path).read_text(encoding="utf-8").splitlines() if path else []
    return [entry for entry in map(json.loads, lines) if entry["file"] == file]


def key_of(entry: dict[str, Any]) -> tuple[object, ...]:
    return tuple(entry[name] for name in ("file", "inside", "words", "column", "kind", "before", "after"))


def chosen(path: str, asked: argparse.Namespace) -> list[Mutant]:
    """The mutants of a file that are asked for."""
    mutants = mutants_of(path, (ROOT / path).read_text(encoding="utf-8"))
    mutants = mutants if asked.all else sampled(mutants, asked.at_least, asked.seed)
    if asked.most is not None:
        mutants = sampled(mutants, asked.most, asked.seed)
    if asked.again:
        left = {key_of(e) for e in logged(asked.again, path) if e["how"] == "survived"}
        mutants = [m for m in mutants if m.key in left]
    done = {key_of(e) for e in logged(asked.beyond, path)}
    return [m for m in mutants if m.key not in done]


def line_of(judged: Judged) -> str:
    m = judged.mutant
    if judged.how == "survived":
        return f"SURVIVED {m.sentence}\n    {m.line_words}"
    return f"{judged.how:11} {m.sentence} ({judged.test.split('::')[-1]})"


def summed_up(path: str, judged: Sequence[Judged]) -> str:
    """How many of a file's mutants were killed, and by what."""
    how = Counter(j.how for j in judged)
    killed = len(judged) - how["survived"]
    share = f"{killed / len(judged):.1%}" if judged else "none"
    ways = ", ".join(f"{n} {name}" for name, n in how.most_common())
    cpu = sum(j.cpu for j in judged)
    return f"{path}: {killed} of {len(judged)} killed ({share}); {ways}; {cpu:.0f} CPU-s"


def judged_together(killers: Killers, mutants: dict[str, list[Mutant]], asked: argparse.Namespace) -> list[Judged]:
    """The mutants of files that share their killers; each told as it is judged."""
    judged: list[Judged] = []
    with Tree(asked.jobs, killers.tables) as tree:
        campaign = Campaign(list(mutants), killers)
        for path in mutants:
            campaign.kills.update(e["test"] for e in logged(asked.beyond, path) if e["test"])
        failing = campaign.measure(tree)
        said = f"{sum(map(len, mutants.values()))} mutants, {len(campaign.costs)} tests"
        print(f"{', '.join(mutants)}: {said} of {sum(campaign.costs.values()):.1f} CPU-s", file=sys.stderr)
        for name in failing:
            print(f"left out, since it fails of the tree as it is: {name}", file=sys.stderr)
        for path, some in mutants.items():
            here = []
            for one in campaign.judge_all(some, tree):
                here.append(one)
                print(json.dumps(one.as_dict()) if asked.json else line_of(one), flush=True)
            print(summed_up(path, here), file=sys.stderr, flush=True)
            judged += here
    return judged


def main(arguments: Sequence[str]) -> int:
    asked = parsed(arguments)
    together: dict[Killers, dict[str, list[Mutant]]] = {}
    for path in asked.files:
        try:
            together.setdefault(killers_of(path), {})[path] = chosen(path, asked)
        except (KeyError, OSError) as error:
            print(f"{path}: {'no killers are named for it' if isinstance(error, KeyError) else error}", file=sys.stderr)
            return 2
    if asked.list:
        print("\n".join(m.sentence for some in together.values() for mutants in some.values() for m in mutants))
        return 0
    judged = [j for killers, mutants in together.items() for j in judged_together(killers, mutants, asked)]
    return 1 if any(j.how == "survived" for j in judged) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
