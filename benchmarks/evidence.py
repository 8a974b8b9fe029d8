"""Report the evidence columns for mutants of `zab`: changes of its source, each in a copy of the packages.

    python benchmarks/evidence.py [NAME ...] [--all] [--json FILE]

A row says how the explored cells and the refinement cell differ from those of the unchanged source, and that nothing
recorded is shown. With `--all` the induction is run as well, which takes minutes for each.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
PACKAGES = ("zabcheck", "checker", "traces", "invariants", "zabspec")

# By name: a text that zabspec/zab.py has once, and its replacement.
MUTANTS = {
    "promise-later-epoch": ("return s.promised_epoch[f] <= epoch", "return s.promised_epoch[f] <= epoch + 1"),
    "current-epoch-kept": ("    s.current_epoch[f] = m.epoch\n    force", "    force"),
    "choose-with-one": (
        "        if g in s.Q[l] and g not in s.acked[l]:\n            return False\n    return True",
        "        if g in s.Q[l] and g in s.acked[l]:\n            return True\n    return False",
    ),
    "worst-epoch": ("return 1 if m.current_epoch > s.best_epoch[l]", "return 1 if m.current_epoch < s.best_epoch[l]"),
    "newleader-of-old-epoch": ("if s.promised_epoch[f] != m.epoch:", "if s.promised_epoch[f] < m.epoch:"),
    "established-with-one": ("    if quorum(s, s.acked[l]):", "    if len(s.acked[l]) > 0:"),
    "deliver-all-when-joining": (
        "    return m.txn\n\n\ndef deliver_up_to",
        "    return last(s.history[f])\n\n\ndef deliver_up_to",
    ),
    "one-counter": ("return t.counter + 1 if t.epoch == s.new_epoch[l] else 1", "return 1"),
    "propose-before-newleader": (
        "return s.phase[f] >= SYNCHRONIZATION and s.current_epoch[f] == s.promised_epoch[f]",
        "return s.phase[f] >= SYNCHRONIZATION",
    ),
    "epoch-proposed-again": ("    return s.new_epoch[l] + 1", "    return max(1, s.new_epoch[l])"),
    "deliver-all-on-commit": ("        deliver_up_to(s, f, m.txn)", "        deliver_up_to(s, f, last(s.history[f]))"),
    "commit-with-one": ("    if quorum(s, s.acks[l][k]):", "    if len(s.acks[l][k]) > 0:"),
    "no-proposals-to-joiners": ("return g in s.Q[l] or g in s.joining[l]", "return g in s.Q[l]"),
}

ASK = """
import json, sys, zabcheck
from checker.proofs.evidence.gathered import of_zab, piece
report = zabcheck.explore(nodes=3, depth=20, keep_going=True, evidence="explored").report
kinds = ("refinement", "inductive") if sys.argv[1:] else ("refinement",)
quick = [piece(one, False, print) for one in of_zab("")]
found = {e.kind: e for e in (piece(one, True, lambda _: None) for one in of_zab("") if one.kind in kinds)}
print(json.dumps({
    "explored": {p.name: report.verdict_in_words(p) for p in report.listed},
    "states": [report.exploration.distinct, report.exploration.generated],
    "recorded": [e.kind for e in quick if e.status == "recorded"],
    **{kind: [e.status, dict(e.claims), e.why] for kind, e in found.items()},
}))
"""


def answer_for(mutant: str, everything: bool) -> dict[str, Any]:
    """Return the evidence columns for a mutant; for an empty name, those for the unchanged source."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for package in PACKAGES:
            shutil.copytree(TOP / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
        if mutant:
            old, new = MUTANTS[mutant]
            text = (folder / "zabspec/zab.py").read_text(encoding="utf-8")
            assert text.count(old) == 1, mutant
            (folder / "zabspec/zab.py").write_text(text.replace(old, new), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": name, "ZABCHECK_CACHE": str(folder / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", ASK, *(["all"] if everything else [])], cwd=name, env=environment, check=False,
            capture_output=True, text=True,
        )  # fmt: skip
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1]}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    """Print a row for each mutant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*MUTANTS, []], help="mutants; all of them")
    parser.add_argument("--all", action="store_true", help="with the induction")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    sound = answer_for("", False)
    assert sound["recorded"], "nothing is recorded for this tree: python -m benchmarks.record_evidence"
    print(f"{'zab itself':26} recorded: {', '.join(sound['recorded'])}; {sound['refinement'][:2]}")
    answers = {"": sound}
    for name in given.names or MUTANTS:
        found = answers[name] = answer_for(name, given.all)
        if "error" in found:
            print(f"{name:26} {found['error']}")
            continue
        changed = {p: said for p, said in found["explored"].items() if said != sound["explored"].get(p)}
        broken = [f"{p} {said}" for p, said in changed.items() if "VIOLATED" in said]
        status, claims, why = found["refinement"]
        print(f"{name:26} explored: {len(changed)} cells changed ({'; '.join(broken) or 'none violated'})")
        print(
            f"{'':26} refinement: {claims or status} {why}; recorded shown: {found['recorded'] or 'nothing'}",
            flush=True,
        )
        if not changed and claims == sound["refinement"][1]:
            same = "as many" if found["states"] == sound["states"] else "other"
            print(f"{'':26} NO CELL CHANGED; {same} states and transitions to depth 20")
        assert not found["recorded"], f"{name} is shown what is recorded of another text"
    if given.json is not None:
        given.json.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
