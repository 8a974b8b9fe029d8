"""What every ending has to be: its exit code, what it says, and whether that is so."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

from traces.record.reading import strict_json
from zabspec.ensemble import ConfigError
from zabspec.worlds.steps import BUDGETS
from zabspec.zoo_cfg import parse

from .commands import SAMPLES
from .files import Damaged
from .running import Outcome, run

ORDERS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# What is wrong with a request: a sentence, and for a protocol's source the line with a caret below it.
SENTENCE = re.compile(r"zabcheck: .+\n(    .+\n    .+\n)?")
REASON = re.compile("(?i)no verdict|undecided|neither|cannot|no quorum|none of|false|interrupted|reached|no end|not")
RANGES = ("max_epoch", "channel")  # a run within some is one within others, and says nothing that is not so
# What a trace from before there was such a budget is taken to say.
NOT_THEN = {"start": "", **{name: 0 for name, b in BUDGETS.items() if not any(b.usual.values())}}
ANSWERING = 5.0  # CPU seconds: one that was told to end may have had its answer already
MOST_BRUTE = 9  # servers of which all sets are tried


def faults(o: Outcome, folder: Path) -> list[str]:
    """What is wrong with how a command ended, whatever it was asked."""
    out = []
    if o.code not in (0, 1, 2, 3):
        out.append(f"exit code {o.code}")
    if "Traceback" in o.err or "internal error" in o.err or list(folder.glob("zabcheck-error-*")):
        out.append("an error that was not foreseen")
    if ORDERS.search(o.out) or ORDERS.search(o.err):
        out.append("control characters")
    answer = json.loads(o.out) if o.out and o.code == 2 and "--json" in o.words else None
    other = o.out and not (isinstance(answer, dict) and answer.get("exit_code") == 2)  # as JSON it is said there
    if o.code == 2 and (other or not SENTENCE.fullmatch(o.err)):
        out.append("2 is one sentence on stderr, perhaps with a line of the source, and nothing on stdout")
    if o.code == 1 and not o.out:
        out.append("1 without a word of what was found")
    if o.code == 3 and not REASON.search(o.out + o.err):
        out.append("3 without a reason")
    in_file = "--output" in o.words or o.words[:1] == ("report",)
    if o.code == 0 and not o.out and not in_file:
        out.append("0 without an answer")
    if o.late and o.code != 3 and o.after > ANSWERING:
        out.append("it was told to end, went on, and did not end with 3")
    return out + said(o)


def said(o: Outcome) -> list[str]:
    """What contradicts the exit code in what is written."""
    if "--json" in o.words and o.out.startswith("{") and o.words[0] not in ("export", "induct", "prove"):
        try:
            report = json.loads(o.out)
        except ValueError:
            return ["this is no JSON"]
        if report.get("exit_code", o.code) != o.code:
            return [f"the report says {report['exit_code']}, the exit code is {o.code}"]
    first = o.out.partition("\n")[0]
    for word, code in (("holds: ", 0), ("premise not reached: ", 0), ("VIOLATED: ", 1), ("no verdict: ", 3)):
        if first.startswith(word) and o.code not in (code, 3):
            return [f"{word!r} and exit code {o.code}"]
    return []


def disputed(o: Outcome, folder: Path, limit: float) -> list[str]:
    """What others say of an exploration: the interpreter, with every state for itself, and the simulator, in which
    a counterexample that was saved has to be one."""
    out = []
    if o.code in (0, 1) and "distinct states" in o.out and "interpret" not in o.words:
        again = run([*o.words, "--engine", "interpret", "--no-symmetry"], folder, limit)
        if again.code not in (o.code, 2, 3):
            out.append(f"the interpreter ends with {again.code}")
    for path in folder.glob("*.json"):
        if o.code == 1 and path.name not in SAMPLES and b'"zabcheck-trace"' in path.read_bytes()[:100]:
            if run(["replay", path.name], folder, limit).code != 0:
                out.append(f"{path.name}, which was saved, does not replay")
    return out


def lies(o: Outcome, given: Damaged, folder: Path) -> list[str]:
    """What a command says of a changed file that is not so."""
    if given.name.endswith(".trace.json"):
        return forged(o, given, (folder / given.name).read_bytes())
    if given.name == "zoo.cfg":
        return miscounted(o, given)
    return []


def forged(o: Outcome, given: Damaged, original: bytes) -> list[str]:
    """A trace is believed only if it says what the one says that it was made from."""
    try:
        said = strict_json(given.data)
    except ValueError:
        said = None
    made = json.loads(original)
    if o.code in (0, 1) and anyhow(said, RANGES) != anyhow(made, RANGES):
        return ["a trace that was changed is believed"]
    if o.code == 2 and request_of(said) == request_of(made) and anyhow(said) == anyhow(made):
        return ["a trace that says the same is refused"]
    return []


def request_of(said: Any) -> str:
    """The request in a trace: it is checked, though no verdict is read from it."""
    return json.dumps(said.get("request") if isinstance(said, dict) else None, sort_keys=True)


def anyhow(value: Any, left_out: tuple[str, ...] = ()) -> str:
    """The text of a trace, whoever wrote it; in it 1 and true are not the same, as they are in Python.

    Args:
        left_out: of its configuration.
    """
    if isinstance(value, dict) and isinstance(value.get("tool"), str):
        # what says which request it answers no verdict is read from
        value = {k: v for k, v in value.items() if k != "request"} | {"tool": ""}
        if isinstance(value.get("configuration"), dict):
            given = NOT_THEN | value["configuration"]
            value["configuration"] = {k: v for k, v in given.items() if k not in left_out}
    return json.dumps(value, sort_keys=True)


def miscounted(o: Outcome, given: Damaged) -> list[str]:
    """Whether quorums intersect, by trying all sets of servers."""
    try:
        ensemble = parse(given.data).voters
    except ConfigError:
        return [] if o.code == 2 else ["a file that is no configuration is taken for one"]
    everyone = ensemble.participants
    if len(everyone) > MOST_BRUTE:
        return []
    sets = [frozenset(c) for n in range(len(everyone) + 1) for c in itertools.combinations(everyone, n)]
    quorums = [s for s in sets if ensemble.is_quorum(s)]
    disjoint = any(not a & b for a in quorums for b in quorums)
    right = 1 if disjoint else 0 if quorums else 3
    if o.code != right and not (o.code == 0 and not quorums and ensemble.lightest < 0):
        return [f"the exit code is {o.code}, and {right} by trying all sets"]
    return []
