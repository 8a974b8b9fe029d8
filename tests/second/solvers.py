"""Have cvc5 answer the queries that z3 answered: where the two differ, one of them or the query's text is wrong.

    python -m tests.second.solvers --commands prove,bmc,induct --sample 40 --seed 1 --seconds-per-query 20

Every query of `prove` is asked, and a sample of the others. A difference (one says `sat`, the other `unsat`) is a
failure: exit 1. What one solver decides and the other cannot is listed, and is none. Queries and answers are kept in
`--folder`: a campaign that was stopped goes on there.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TPC = ROOT / "examples" / "start" / "tpc.py"
TINY = ("--nodes", "2", "--txns", "1")
# what is asked, each in one process of its own; of `refine` there is nothing, it explores
COMMANDS: Mapping[str, Sequence[str]] = {
    "prove": ("prove",),
    "bmc": ("bmc", *TINY, "--depth", "4", "--every", "1", "--no-trace"),
    "induct": ("induct", *TINY, "--clause", "leads-itself,has-a-leader", "--assume", "none", "--witness-states", "0"),
    "own": ("induct", "--protocol", str(TPC), "--nodes", "2", "--channel", "3", "--witness-states", "0", "--k", "2"),
}
WHOLE = ("prove",)  # of which all is asked
DECIDED = ("sat", "unsat")


@dataclass(frozen=True)
class Answered:
    """A query, and what both solvers say of it."""

    command: str
    file: str
    z3: str
    cvc5: str
    seconds: float


def written(command: str, folder: Path) -> Path:
    """The folder of a command's queries, which are made if they are not there.

    Raises:
        RuntimeError: the command wrote none.
    """
    made = folder / command
    if not (made / "index.json").is_file():
        for left in made.glob("*") if made.is_dir() else ():
            left.unlink()
        words = [sys.executable, "-m", "zabcheck", *COMMANDS[command], "--smt2", str(made)]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        if not (made / "index.json").is_file():
            raise RuntimeError(f"{command}: exit {done.returncode}: {done.stderr.strip()}")
    return made


def chosen(command: str, queries: Sequence[str], sample: int, seed: int) -> list[str]:
    """The queries that are asked: all of `prove`, a sample of the others, the same for the same seed."""
    if command in WHOLE or len(queries) <= sample:
        return list(queries)
    return sorted(random.Random(f"{seed} {command}").sample(sorted(queries), sample))


def answered(file: Path, seconds: float) -> tuple[str, float]:
    """What cvc5 says of a file, and what it took: `sat`, `unsat`, `unknown`, or why it cannot be read."""
    import cvc5

    began = time.perf_counter()
    terms = cvc5.TermManager()
    solver = cvc5.Solver(terms)
    solver.setOption("tlimit-per", str(max(1, int(1000 * seconds))))
    solver.setOption("enum-inst", "true")  # where triggers instantiate nothing more, by enumeration: the proof has such
    parser = cvc5.InputParser(solver)
    said = ""
    try:
        parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, str(file))
        symbols = parser.getSymbolManager()
        while not (command := parser.nextCommand()).isNull():
            said = command.invoke(solver, symbols).strip() or said
    except RuntimeError as problem:
        said = f"error: {problem}".splitlines()[0]
    word = said.split()[0] if said else "nothing"
    return (word if word in (*DECIDED, "unknown") else said), time.perf_counter() - began


def asked(command: str, folder: Path, sample: int, seed: int, seconds: float) -> Iterator[Answered]:
    """Every query of a command that is chosen, with both answers; those that are known already are not asked again."""
    made = written(command, folder)
    index = json.loads((made / "index.json").read_text(encoding="utf-8"))
    status = {q["file"]: q["status"] for q in index["queries"]}
    kept = made / f"answers-{seconds:g}.jsonl"
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.is_file() else []
    known = {row["file"]: Answered(**row) for row in map(json.loads, filter(None, lines))}
    with kept.open("a", encoding="utf-8") as out:
        for file in chosen(command, list(status), sample, seed):
            if file not in known:
                word, took = answered(made / file, seconds)
                known[file] = Answered(command, file, status[file], word, round(took, 3))
                out.write(json.dumps(asdict(known[file])) + "\n")
                out.flush()
            yield known[file]


def differ(answers: Iterable[Answered]) -> list[Answered]:
    """The queries of which the solvers say the opposite, and those that cvc5 cannot read."""
    return [
        a for a in answers
        if (a.z3 in DECIDED and a.cvc5 in DECIDED and a.z3 != a.cvc5) or a.cvc5 not in (*DECIDED, "unknown")
    ]  # fmt: skip


def only_one(answers: Iterable[Answered]) -> list[Answered]:
    """The queries that one solver decides and the other does not."""
    return [a for a in answers if a.cvc5 in (*DECIDED, "unknown") and (a.z3 in DECIDED) != (a.cvc5 in DECIDED)]


def summary(answers: Sequence[Answered]) -> str:
    """What came of it, a line for each command, then what differs and what one solver alone decides."""
    lines = []
    for command in dict.fromkeys(a.command for a in answers):
        mine = [a for a in answers if a.command == command]
        counts = Counter((a.z3, a.cvc5) for a in mine)
        said = ", ".join(f"z3 {z3} and cvc5 {cvc5}: {n}" for (z3, cvc5), n in sorted(counts.items()))
        lines.append(f"{command}: {len(mine)} queries, {sum(a.seconds for a in mine):.1f} s of cvc5; {said}")
    for title, found in (("differ", differ(answers)), ("one solver decides", only_one(answers))):
        lines.append(f"{title}: {len(found)}")
        lines += [f"  {a.command}/{a.file}: z3 {a.z3}, cvc5 {a.cvc5}, {a.seconds:g} s" for a in found]
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> int:
    """Run the campaign; returns 1 if the solvers differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.second.solvers", description=__doc__)
    parser.add_argument("--commands", default=",".join(COMMANDS), help=f"of {', '.join(COMMANDS)}")
    parser.add_argument("--sample", type=int, default=40, metavar="N", help="of each command but prove")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds-per-query", type=float, default=20.0, metavar="T")
    parser.add_argument("--folder", type=Path, default=Path("queries"), help="where queries and answers are kept")
    options = parser.parse_args(words)
    names = options.commands.split(",")
    unknown = [name for name in names if name not in COMMANDS]
    if unknown:
        parser.error(f"there is no command {unknown[0]!r}; there are {', '.join(COMMANDS)}")
    options.folder.mkdir(exist_ok=True)
    answers: list[Answered] = []
    for name in names:
        for a in asked(name, options.folder, options.sample, options.seed, options.seconds_per_query):
            answers.append(a)
            print(f"{a.command}/{a.file}: z3 {a.z3}, cvc5 {a.cvc5}, {a.seconds:g} s", flush=True)
    print(summary(answers))
    return 1 if differ(answers) else 0


if __name__ == "__main__":
    sys.exit(main())
