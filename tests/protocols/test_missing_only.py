"""ACK-E and NEWLEADER that carry only what is missing: each run is a run of ZAB, step by step."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.proofs.refine.model import RefinedModel
from invariants.binding import bound
from tests.second.reference import explore
from traces.record.values import state_json
from zabspec.language.python.reference import StateView
from zabspec.model import Configuration, Model
from zabspec.worlds.steps import CRASH, TIMEOUT
from zabspec.zab import PROMISING

NAME = "missing-only"
EXTRA = ("part", "zxids")  # fields that the variant alone has
SENT = ("to_leader", "to_follower")  # a message carries a part where ZAB's carries all


class World:
    """A model in the CPython world."""

    def __init__(self, variant: str, **size: int) -> None:
        self.model = Model(Configuration(variant=variant, **size))
        self.names = bound(self.model)

    def steps(self, s: StateView) -> list[int]:
        """The words of the steps that are possible."""
        out = [0] * 512
        self.names["enabled"](s, out)
        return out[1 : out[0] + 1]

    def after(self, s: StateView, word: int) -> StateView:
        """The state after a step."""
        t = StateView(self.model.program.layout, bytes(s.buffer))
        self.names["apply"](t, word)
        assert not t.error
        return t


def seen(s: StateView) -> dict[str, Any]:
    """What both protocols must agree on: every field that both have, of a message its kind and epoch, and no log that
    is not chosen yet: what is best so far of a history that l.1.2 does not choose may be put together wrongly."""
    out = {name: value for name, value in state_json(s).items() if name not in EXTRA}
    for name in SENT:
        out[name] = without_histories(out[name])
    out["log"] = [log for p, log in enumerate(out["log"]) if s.stage[p] != PROMISING]
    return out


def without_histories(value: Any) -> Any:
    """Messages without the fields in which the two protocols differ."""
    if isinstance(value, list):
        return [without_histories(v) for v in value]
    kept = {k: v for k, v in value.items() if k != "history"}
    if value["kind"] in ("CEPOCH", "NEWEPOCH"):
        del kept["epoch"]
        kept = {"kind": value["kind"], "epoch": value["epoch"]}
    return kept


def compare_all(parts: World, whole: World) -> int:
    """Take every step from paired states, in all runs, and compare; return the messages that carry less."""
    first = parts.model.program.initial(), whole.model.program.initial()
    pairs = {(bytes(first[0].buffer), bytes(first[1].buffer))}
    left, shorter = [first], 0
    while left:
        s, t = left.pop()
        assert parts.steps(s) == whole.steps(t)
        for word in parts.steps(s):
            u, v = parts.after(s, word), whole.after(t, word)
            key = (bytes(u.buffer), bytes(v.buffer))
            if key not in pairs:
                assert seen(u) == seen(v)
                shorter += sent(u) < sent(v)
                pairs.add(key)
                left.append((u, v))
    return shorter


def sent(s: StateView) -> int:
    """Transactions in histories that are in flight."""
    there = state_json(s)
    return sum(str(there[name]).count("value") for name in SENT)


def test_every_run_of_missing_only_is_one_of_zab() -> None:
    """Both take the same steps from paired states, and agree after each."""
    size = {"nodes": 1, "txns": 2, "timeouts": 1, "crashes": 0, "losses": 0}
    assert compare_all(World(NAME, **size), World("", **size)), "some message carries less"


@pytest.mark.slow(seconds=3)
def test_random_runs_of_missing_only_are_of_zab() -> None:
    """Of three processes, with followers that join; and each step is one of abstract ZAB, or changes nothing of it."""
    size = {"nodes": 3, "txns": 2, "timeouts": 1, "crashes": 1, "losses": 0}
    parts, whole = World(NAME, **size), World("", **size)
    refined = RefinedModel(parts.model.configuration)
    follow = bound(refined)["apply"]
    drawn, joined, shorter = random.Random(4), 0, 0
    for _ in range(30):
        s, t, abstract = parts.model.program.initial(), whole.model.program.initial(), refined.program.initial()
        while (steps := parts.steps(s)) and steps == whole.steps(t):
            usual = [w for w in steps if (w >> 24) & 255 not in (TIMEOUT, CRASH)]
            word = drawn.choice(usual if usual and drawn.random() < 0.97 else steps)
            s, t = parts.after(s, word), whole.after(t, word)
            follow(abstract, word)
            assert abstract.fault == 0
            joined += any(len(s.joining[p]) for p in range(3))
            shorter += sent(s) < sent(t)
        assert parts.steps(s) == whole.steps(t)
        assert seen(s) == seen(t)
    assert joined
    assert shorter


@pytest.mark.parametrize(("variant", "txns", "depth"), [(NAME, 2, 20), ("counter-rolls-over", 3, 20)])
def test_the_second_semantics_counts_as_many_states(variant: str, txns: int, depth: int) -> None:
    """Of variants that have fields of their own, and epochs that no fault begins."""
    c = Configuration(variant=variant, nodes=2, txns=txns, timeouts=0, crashes=0, losses=0)
    request = {"protocol": "zab", "variant": variant, "nodes": 2, "sizes": {"txns": txns}, "max_depth": depth}
    theirs = explore({**request, "budgets": dict.fromkeys(("timeouts", "crashes", "losses"), 0)})
    model = Model(c)
    found = Interpreter(model, (), False).run(Limits(depth=depth))
    assert sorted(Counter(theirs["depth"]).items()) == list(enumerate(found.levels))
    assert model.epochs == 1 + (txns - 1 if variant != NAME else 0)
