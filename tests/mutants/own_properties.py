"""`python -m tests.mutants.own_properties --seed S --count N`: random properties, judged merged and in full.

What a merging search keeps of a user's property is derived from its text (docs/explanation/reductions.md, "Observer
classes"). So texts are drawn at random, of ghosts, of fields of the protocol, and of both together, and asked of
`zab`, of its variants and of `ladis`, alone or beside some of the papers' properties. Both searches have to find
something broken, or neither; and of one that is conclusive the premises are those of the full search.

    python -m tests.mutants.own_properties --seed 1 --count 100

Exit code 0: nothing that the full search contradicts, 1: something.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import os
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

MOST = 600_000  # states
SHALLOW = 5_000  # of what is broken before a search has visited so many little is learnt
ATTEMPTS = 6

HEAD = '''"""Drawn."""

from __future__ import annotations

from zabspec.language.lang import Node, State, Txn, broken


def has_none(s: State, p: Node) -> bool:
    return len(s.history[p]) == 0


def has_delivered_first(s: State, p: Node, k: int) -> bool:
    return len(s.delivered[p]) > 0 and s.delivered[p][0].value == k + 1


def first_of(s: State, p: Node) -> Txn:
    return s.history[p][0]


def length_of(s: State, p: Node) -> int:
    return len(s.history[p])


def delivered_of(s: State, p: Node) -> int:
    return len(s.delivered[p])
'''
HELPERS = ("has_none", "has_delivered_first", "first_of", "length_of", "delivered_of")

# What is asked, with P and Q for processes, K and J for transactions, E for an epoch and N for a small number
OF_VALUES = """
len(s.delivered[P]) > N
s.diverged[P]
s.pass_length[P] == N
s.abcast_in_pass[P]
s.abcast_by[K] == P
s.abcasts > N
s.abcast_txn[K].epoch == E
s.abcast_attempt[K] > 0
K in s.abcast_after[J]
(len(s.delivered[P]) > 0 and s.delivered[P][0].epoch == E)
has_delivered_first(s, P, K)
(len(s.delivered[P]) > 1 and s.delivered[P][1].value == K + 1)
len(s.delivered[P]) > len(s.delivered[Q])
s.pass_length[P] < len(s.delivered[P])
delivered_of(s, P) == N
s.delivered[P] == s.delivered[Q]
s.abcast_txn[K].epoch + N > E
max(s.pass_length[P], s.pass_length[Q]) == N
""".strip().splitlines()
OF_BOTH = """
s.delivered_length[P] > s.pass_length[Q]
s.promised_epoch[P] > s.abcast_txn[K].epoch
s.leader[P] == s.abcast_by[K]
(len(s.delivered[P]) > 0 and not has_none(s, Q) and s.delivered[P][0] == first_of(s, Q))
len(s.history[P]) < len(s.delivered[Q])
(s.diverged[P] and s.role[Q] == N)
length_of(s, P) == delivered_of(s, Q)
s.chosen_epoch[K] == s.abcast_txn[K].epoch
s.abcast_attempt[K] < s.established[E]
(s.abcasts > K and s.missing_epoch[K] > 0)
(s.history[P] == s.delivered[Q])
s.current_epoch[P] + s.pass_length[Q] > E
""".strip().splitlines()
OF_OTHERS = """
s.role[P] == N
s.promised_epoch[P] > E
s.current_epoch[P] == E
s.leader[P] == Q
len(s.history[P]) > N
not has_none(s, P)
s.stage[P] == N
s.committed[P] > 0
Q in s.Q[P]
s.promised_epoch[P] + 1 > E
s.new_epoch[P] == s.promised_epoch[Q]
s.timeouts_left == 0
len(s.to_leader[P][Q]) > 0
s.link[P][Q] == N
s.chosen_epoch[K] > 0
s.established[E] > 0
len(s.accepted[E][K]) > N
length_of(s, P) > N
(not has_none(s, P) and first_of(s, P).epoch == E)
len(s.acks[P][K]) > 0
s.acks[P][K] == s.Q[P]
s.history[P] == s.history[Q]
(s.role[P] > 0 and len(s.history[P]) // s.role[P] > 0)
len(s.history[P]) // s.stage[P] == N
""".strip().splitlines()
OF_STEPS = ("event.event_process == P", "event.event == N", "event.accepts > N", "before.role[P] != after.role[P]")


def drawn_atom(source: random.Random, named: dict[str, str]) -> str:
    """Draw what is asked: of values, of other fields, or of both."""
    kind = source.choice((OF_VALUES, OF_VALUES, OF_BOTH, OF_OTHERS, OF_OTHERS))
    last = len(kind) - (kind is OF_OTHERS and source.random() < 0.9)  # the last of all errs, and ends a search
    atom = source.choice(kind[:last])
    p, q = source.sample([named["P"], named["Q"]], 2)
    drawn = {"P": p, "Q": q, "K": source.randrange(2), "J": source.randrange(2), "E": source.randrange(1, 3)}
    drawn["N"] = source.randrange(3)
    atom = re.sub(r"(?<![\w.])([PQKJEN])(?!\w)", lambda found: str(drawn[found[1]]), atom)
    return f"not ({atom})" if source.random() < 0.1 else atom


def drawn_function(source: random.Random, name: str, steps: bool, found: str, otherwise: str) -> str:
    """Draw a function that returns one thing where some process, or two, are of a kind, and else another."""
    one = source.random() < 0.2  # of a single process, by its number: the property is of no use to symmetry
    named = {"P": "0", "Q": "q"} if one else {"P": "p", "Q": "q"}
    lines = [
        f"def {name}(before: State, event: State, after: State) -> bool:" if steps else f"def {name}(s: State) -> bool:"
    ]
    indent = "    "
    counts = source.random() < 0.25
    if counts:
        lines.append("    count = 0")
    for variable in ("q",) if one else ("p", "q"):
        lines.append(f"{indent}for {variable} in range({'after' if steps else 's'}.NODES):")
        indent += "    "
    atoms = [drawn_atom(source, named) for _ in range(source.choice((2, 3, 4, 5)))]
    if steps:
        atoms = [a.replace("s.", f"{source.choice(('before', 'after', 'after'))}.") for a in atoms]
        atoms = [a.replace("(s, ", "(after, ") for a in atoms]
        atoms.append(source.choice(OF_STEPS).replace("P", named["P"]).replace("N", str(source.randrange(1, 8))))
    lines.append(f"{indent}if {' and '.join(atoms)}:")
    if counts:
        lines.append(f"{indent}    count = count + 1")
        lines.append(f"    if count > {source.randrange(1, 4)}:")
        lines.append(f"        return {found}")
    else:
        lines.append(f"{indent}    return {found}")
    return "\n".join([*lines, f"    return {otherwise}"])


def drawn_text(source: random.Random) -> tuple[str, list[str]]:
    """Draw a module of properties; returns its text, and what each property is of."""
    parts, kinds = [HEAD], []
    for k in range(source.choice((1, 1, 2))):
        kind = source.choice(("state", "state", "state", "step", "terminal"))
        said = source.choice(("False", "False", 'broken("so it is")'))
        parts.append(drawn_function(source, f"own_{k}", kind == "step", said, "True"))
        parts.append(drawn_function(source, f"met_{k}", kind == "step", "True", "False"))
        kinds.append(kind)
    return "\n\n\n".join(parts) + "\n", kinds


def loaded(folder: Path, name: str, text: str) -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def compared(seed: int, folder: Path) -> dict[str, Any]:
    """Draw a model and properties, and search it both ways; of what is broken at once something else is drawn."""
    for attempt in range(ATTEMPTS):
        found = compared_once(seed, attempt, folder)
        if found.get("full", MOST) > SHALLOW:
            break
    return found


def compared_once(seed: int, attempt: int, folder: Path) -> dict[str, Any]:
    """Draw a model and, in one of several attempts, properties, and search it both ways."""
    from checker.explore import deliveries, narrowing
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from checker.explore.deliveries import DeliveryModel
    from checker.explore.result import Limits
    from invariants.registry import STATE, STEP, TERMINAL, Property
    from tests.models import judged
    from zabspec.language.source import LanguageError
    from zabspec.model import Configuration, Model
    from zabspec.protocols.registry import PROTOCOLS

    source = random.Random(f"{seed} own")
    protocol = "zab" if source.random() < 0.75 else "ladis"
    variants = ["", "", *PROTOCOLS[protocol].variants]
    variant = source.choice(variants)
    if protocol == "ladis" and source.random() < 0.7:
        variant = "promise+later-epoch+none-ahead+current-epoch"
    txns, timeouts, crashes = source.choice(((2, 1, 0), (2, 1, 0), (1, 1, 0), (2, 0, 1)))
    out: dict[str, Any] = {"seed": seed, "model": f"{protocol} {variant} {txns},{timeouts},{crashes}"}
    source = random.Random(f"{seed} own {attempt}")
    text, kinds = drawn_text(source)
    module = loaded(folder, f"drawn_{seed}_{attempt}", text)
    of = {"state": STATE, "step": STEP, "terminal": TERMINAL}
    own = [
        Property(f"own-{k}", of[kind], "here", "", getattr(module, f"own_{k}"), getattr(module, f"met_{k}"))
        for k, kind in enumerate(kinds)
    ]
    beside = source.sample(judged(protocol), source.choice((0, 0, 1, 3, len(judged(protocol)))))
    properties = [*(p for p in judged(protocol) if p in beside), *own]
    out["asked"] = [p.name for p in properties]
    names = [*HELPERS, *(f.__name__ for p in own for f in (p.holds, p.witness))]
    extra = {name: getattr(module, name) for name in names}

    def model() -> Model:
        made = Model(
            Configuration(
                protocol=protocol, variant=variant, nodes=3, txns=txns, timeouts=timeouts, crashes=crashes, losses=0
            )
        )
        made.program.extra = extra
        return made

    class Saying(DeliveryModel):
        def __init__(self, configuration: Configuration) -> None:
            super().__init__(configuration)
            self.program.extra = extra

    limits = Limits(max_states=MOST)
    try:
        code, _ = Compiled.of(model(), properties, True)
    except LanguageError as problem:
        return {**out, "refused": str(problem)[:160]}
    full = Explorer(code, 1).run(limits)
    if full.distinct <= SHALLOW and attempt < ATTEMPTS - 1:
        return {**out, "full": full.distinct}
    if full.stopped:
        return {**out, "passed over": full.stopped}
    patched = (mock.patch.object(module, "DeliveryModel", Saying) for module in (deliveries, narrowing))
    with next(patched), next(patched):
        return {**out, **both(model, properties, code, full, limits)}


def both(model: Any, properties: Sequence[Any], whole: Any, full: Any, limits: Any) -> dict[str, Any]:
    """Search merged, and hold what is found against the full search."""
    from checker.explore.ample import AmpleExplorer, Narrowing, conclusive
    from checker.explore.narrowing import narrowed
    from checker.requests.restart import searching

    unmet = [p.name for p in properties if p.name not in full.witnessed]
    code = Narrowing(model(), properties, whole.symmetry, unmet)
    search = AmpleExplorer(code, 1)
    less = search.run(limits)
    if less.apart and not search.unforeseen and code.classes.classes:  # not connected as followed: `ladis`
        search = AmpleExplorer(code.without_ample(), 1)
        less = search.run(limits)
    broken, suspected = bool(full.violations or full.error), bool(less.violations or less.error or less.suspected)
    wrong = ""
    if less.complete and not less.apart and not suspected and broken:
        wrong = f"nothing is suspected, and {', '.join(full.violations) or full.error} is broken"
    elif suspected and not broken:
        wrong = f"{', '.join(less.suspected) or less.error} is suspected, and nothing is broken"
    elif extra := less.witnessed.keys() - full.witnessed.keys():
        wrong = f"premises that no state meets: {', '.join(sorted(extra))}"
    elif less.complete and not less.apart and less.witnessed.keys() & set(unmet):
        wrong = "a premise is met that was not"
    task = SimpleNamespace(run=lambda search: search.run(limits))
    asked = narrowed(model(), properties, set(unmet), searching(task, whole.symmetry, 1))  # as a request does
    found = bool(asked.violations or asked.error or asked.suspected)
    if asked.complete and not asked.apart and found != broken:
        wrong = wrong or f"a request finds {'something' if found else 'nothing'} broken"
    wrong = wrong or goes_on_otherwise(search.code)
    return {
        "full": full.distinct, "merging": less.distinct, "broken": broken, "merged": bool(less.merged),
        "conclusive": conclusive(less), "unforeseen": search.unforeseen, "replaced": "checked at" in asked.merged,
        "requested": asked.distinct, "ample": search.code.ample, "classes": search.code.classes.classes,
        "why_not": search.code.classes.why_not, "wrong": wrong,
    }  # fmt: skip


def goes_on_otherwise(code: Any, walks: int = 24, length: int = 80) -> str:
    """Walk at random, and hold each state against the one that stands for it: what is judged of both, which steps they
    have, how these are judged, and where they lead. A walk ends where something is broken, as a search does. Returns
    where they differ, in a sentence; empty: nowhere."""
    from checker.explore import kernel
    from invariants.registry import STEP

    source, size = random.Random(7), code.layout.size
    steps = sum(1 << k for k, p in enumerate(code.properties) if p.of == STEP)
    every = (1 << len(code.properties)) - 1

    def said(state: bytes) -> tuple[int, int, int]:
        broken, met, error = code.judged_state(state, every & ~steps)
        return broken, met & code.kept_premises, error

    for _ in range(walks if code.classes.classes else 0):
        state = code.model.program.initial().key()
        for _ in range(length):
            broken, met, error = said(state)
            if broken & sum(1 << k for k, p in enumerate(code.properties) if p.name in code.broken_by_values):
                break
            report = (ctypes.c_int64 * kernel.REPORT)()
            code.enter_class(code.state(state), code._work, report)
            if report[kernel.R_CLASSLESS]:  # what was expected to hold is broken: a search is not believed
                break
            standing = code.standing_for(state)
            if said(standing) != (broken, met, error):
                return f"a state is judged {(broken, met, error)}, and what stands for it {said(standing)}"
            mine, theirs = code.next_states(state), code.next_states(standing)
            if [word for word, _ in mine] != [word for word, _ in theirs]:
                return "what stands for a state has other steps"
            for (_, here), (_, there) in zip(mine, theirs, strict=True):
                if code.breaks(state, here, steps) != code.breaks(standing, there, steps):
                    return "a step is judged otherwise"
                if code.visited(here[:size])[0] != code.visited(there[:size])[0]:
                    return "a step leads to two classes"
            if broken or error or not mine:
                break
            state = source.choice(mine)[1][:size]
    return ""


def main() -> int:
    """Run the comparison; returns the exit code."""
    asks = argparse.ArgumentParser(prog="python -m tests.mutants.own_properties", description=__doc__.split("\n")[0])
    asks.add_argument("--seed", type=int, default=1, help="the first seed")
    asks.add_argument("--count", type=int, default=1, help="how many draws")
    given = asks.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        os.environ["ZABCHECK_CACHE"] = str(Path(name) / "cache")
        for seed in range(given.seed, given.seed + given.count):
            found = compared(seed, Path(name))
            print(json.dumps(found), flush=True)
            counts["drawn"] += 1
            counts["compared"] += "wrong" in found
            for what in ("refused", "passed over", "broken", "merged", "conclusive", "unforeseen", "replaced", "wrong"):
                counts[what] += bool(found.get(what))
            counts["fewer"] += bool(found.get("merged")) and found["merging"] < found["full"]
    print(", ".join(f"{what} {n}" for what, n in counts.items()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
