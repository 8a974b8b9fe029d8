"""Run the rows of the ledger: what the papers claim, each with a command and the words that it has to print.

    python -m benchmarks.ledger [WORD ...]     run and record all rows, or those whose source or command has a word

A row shows its claim if each command ends with 0 or 1 and what they print has every word of the row. The record,
`docs/reference/paper-claims.json`, has the date and the CPU seconds of each row, the machine and the versions; the page
`docs/reference/paper-claims.md` shows it. A row that does not show its claim is reported, loses its record, and the
exit code is 1.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import platform
import shlex
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from checker.cli import main
from checker.page_tables import CLAIM_RUNS, PaperClaim, paper_claims

DOCS = Path(__file__).parents[1] / "docs/reference"


def trouble(claim: PaperClaim) -> str:
    """Run the commands of a row in a folder of its own; return why they do not show its claim, or an empty text."""
    out = ""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for command in claim.commands:
            done = CliRunner().invoke(main, shlex.split(command)[1:], prog_name="zabcheck")
            out += f"{done.stdout}\n{done.stderr}\n"
            if done.exit_code not in (0, 1):
                return f"{command} ends with {done.exit_code}: {done.stderr.strip()}"
    text = " ".join(out.split())
    missing = [words for words in claim.says if words not in text]
    return f"{claim.commands[-1]} does not print {missing[0]!r}" if missing else ""


def versions() -> dict[str, str]:
    """Return the versions of Python, and of the packages that a result depends on."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in ("zabcheck", "llvmlite", "z3-solver")},
    }


def run(words: list[str]) -> int:
    """Run rows and record them; return the exit code."""
    path = DOCS / CLAIM_RUNS
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else {}
    claims, failed = paper_claims(DOCS), 0
    for claim in claims:
        if words and not any(word in f"{claim.source} {' '.join(claim.commands)}" for word in words):
            continue
        began = time.process_time()
        known.pop(claim.digest, None)
        if problem := trouble(claim):
            failed += 1
            print(f"{claim.source}: {claim.claim}: {problem}", file=sys.stderr, flush=True)
            continue
        seconds = round(time.process_time() - began, 1)
        known[claim.digest] = {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), "cpu_seconds": seconds}
        machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
        runs = {c.digest: known[c.digest] for c in claims if c.digest in known}
        record = {"machine": machine, "versions": versions(), "runs": runs}
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
