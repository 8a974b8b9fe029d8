"""Fairness by its definition (docs/explanation/liveness.md): in the search, in the check of its runs, and naively."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from checker.explore.result import Limits
from checker.live.code import LiveCode
from checker.live.lasso import lasso_of
from checker.live.run import LiveRun
from checker.requests.live import assumed
from invariants.binding import full_namespace
from tests.live.fair_texts import MARKS, PROTOCOLS, RULES, TABLE, TABLES, marked, text
from tests.live.test_live import asked
from tests.second.reference import explore
from traces import read_trace
from traces.record.fair import hold_fair
from traces.replay.replay import replay
from zabspec.language import reference
from zabspec.language.derive import in_order
from zabspec.language.reference import ERRORS, StateView
from zabspec.live.phase import stable_phase
from zabspec.model import ConfigError, Configuration, Model
from zabspec.worlds.steps import ACTION, RECEIVE

EVERY = bool(os.environ.get("ZABCHECK_EVERY"))


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("network", ["datagrams", "fifo"])
def test_who_waits_for_ever_in_a_fair_run_is_found_and_nobody_else(network: str, name: str, tmp_path: Path) -> None:
    """Those with a message to a process that is down, and those in which messages overtake each other, were refused
    before: no verdict, "please report it"."""
    parts, crashes, *starves = PROTOCOLS[name]
    (tmp_path / "small.py").write_text(text(network, crashes, **parts))
    result = asked("--protocol", "small.py", cwd=tmp_path)
    if starves[network == "fifo"]:
        assert result.exit_code == 1, result.output
        assert replay(read_trace(tmp_path / "zabcheck-small-gets.trace.json")).lasso is not None
    else:
        assert result.exit_code == 0, result.output
        assert "holds: no process starves in any fair run, 1 of 1 progress property" in result.output


# --- held against networkx, in the CPython world ---------------------------------------------------

WORLDS = [("datagrams", 1), ("fifo", 1), ("datagrams", 0), ("ordered", 1)]
CUT = 200  # states of a phase that are looked at


@cache
def tables(folder: str, network: str, crashes: int) -> LiveCode:
    path = Path(folder) / "tables.py"
    path.write_text(TABLES)
    c = Configuration(protocol=str(path), nodes=2, network=network, crashes=crashes)
    return LiveCode.of(Model(c), (), True)[0]


class Naive:
    """The definition of docs/explanation/liveness.md in plain Python: the graph, and what is enabled and met in it."""

    def __init__(self, model: Model, initial: StateView) -> None:
        self.model, phase = model, stable_phase(model)
        self.goal = phase.goals[0].called
        names = {**phase.constants, **full_namespace(model), **phase.functions}
        program = model.program
        self.names: dict[str, Any] = reference.load(program.layout, names, program.types, program.steps)
        self.graph: nx.MultiDiGraph[bytes] = nx.MultiDiGraph()
        self.enabled: dict[bytes, set[object]] = {}
        ahead = [stable(s) for s in self.reached(initial)]
        while ahead:
            s = ahead.pop()
            key = canonical(s)
            if key in self.enabled:
                continue
            if len(self.enabled) > CUT:
                raise TooLarge
            self.enabled[key] = set()
            self.graph.add_node(key, state=s)
            for word in self.words(s):
                if word >> 24 == RECEIVE and s.in_flight[word & 255].ahead:
                    continue
                after, obligation = s.copy(), obligation_of(s, word)
                self.names["apply"](after, word)
                if obligation is not None:
                    self.enabled[key].add(obligation)
                after = stable(after)
                self.graph.add_edge(key, canonical(after), met=obligation)
                ahead.append(after)

    def words(self, s: StateView) -> list[int]:
        out = [0] * (self.model.most_steps + 1)
        self.names["enabled"](s, out)
        return out[1 : out[0] + 1]

    def reached(self, initial: StateView) -> Iterator[StateView]:
        """All states with faults."""
        seen, ahead = {canonical(initial)}, [initial]
        while ahead:
            yield (s := ahead.pop())
            if len(seen) > CUT:
                raise TooLarge
            for word in self.words(s):
                after = StateView(s.layout, s.key())
                self.names["apply"](after, word)
                if (key := canonical(after)) not in seen:
                    seen.add(key)
                    ahead.append(StateView(s.layout, after.key()))

    def starves(self, p: int) -> bool:
        """Whether process p waits for ever in a fair run."""
        waiting = [key for key, s in self.graph.nodes(data="state") if self.names[self.goal](s, p)]
        within = self.graph.subgraph(waiting)
        for component in nx.strongly_connected_components(within):
            met = {kind for _, _, kind in within.subgraph(component).edges(data="met")}
            if set.intersection(*(self.enabled[key] for key in component)) <= met:
                return True
        return False


class TooLarge(Exception):
    """There are more states than are looked at."""


def canonical(s: StateView) -> bytes:
    """A state's bytes, its bag sorted."""
    return in_order(s.layout, s.key())


def stable(s: StateView) -> StateView:
    """A state without a budget, as the stable phase begins in it."""
    out = StateView(s.layout, s.key())
    for name in ("crashes_left", "timeouts_left", "heartbeats_left", "drops_left", "duplicates_left"):
        if name in s.layout.fields:
            setattr(out, name, 0)
    return out


def obligation_of(s: StateView, word: int) -> object:
    """What a step meets: the receipt of its message, whichever copy of it, or its action; None: nothing."""
    kind, p, which = word >> 24, word >> 16 & 255, word & 255
    if kind == RECEIVE:
        return bytes(s.in_flight[which].raw())
    return (p, which) if kind == ACTION and which != 0 else None  # the first need not be taken


def with_rules(model: Model, rules: dict[str, int]) -> StateView:
    """The initial state with a table."""
    s = StateView(model.program.layout)
    model.program.python["initialize"](s)
    for name, rule in rules.items():
        setattr(s, name, rule)
    return s


@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize(("network", "crashes"), WORLDS if EVERY else WORLDS[:1])
def test_the_search_and_networkx_agree_on_who_starves(
    network: str, crashes: int, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tables(str(tmp_path_factory.getbasetemp()), network, crashes)
    source = random.Random(f"{network} {crashes}")
    counts = {True: 0, False: 0}
    for _ in range(2000 if EVERY else 40):
        rules = {name: source.randrange(256) for name in RULES}
        if source.random() < 0.5:  # A and C are sent at first, each receipt of A sends A: C may be overtaken
            rules.update(rule_begin=1 | 3 << 3, rule_a=source.choice((1 | 1 << 3, 5 | 5 << 3)), rule_may=0)
        initial = with_rules(code.model, rules)
        monkeypatch.setattr(type(code.model.program), "initial", lambda _, begins=initial: begins.copy())
        try:
            naive = Naive(code.model, initial)
        except (TooLarge, *ERRORS):
            continue
        run = LiveRun(code, 1)
        live = run.run(Limits(None, None, None, None))
        assert live.complete, live.stopped
        starves = any(naive.starves(p) for p in range(2))
        assert starves == ("gets" in live.found), rules
        counts[starves] += 1
        if starves:
            found = lasso_of(run, live.found["gets"])
            hold_fair(Model(found.configuration), found.schedule, found.lasso)
    assert min(counts.values()) > 1


def drawn_table(source: random.Random) -> dict[str, int]:
    """A table of one fair action or two. In most of them a process goes from phase 0 to phase 1 and back, waiting, and
    another action leads away from there, which is possible again and again, and not always."""
    table = {name: source.randrange(1 << 12) for name in TABLE}
    acts = source.choice((1, 3, source.randrange(1, len(MARKS))))
    for k in {*range(1, len(MARKS))} - {acts}:
        table[f"rule_{k}"] &= 0xFF0
    if source.random() < 0.75:
        table["rule_0"] = table["rule_0"] & 0xF00 | 1 << 4 | 3
        table[f"rule_{acts}"] &= 0xFFD
        table["rule_goal"] = 3
    return table


@pytest.mark.slow(seconds=1)
def test_every_fairness_of_actions_is_the_second_semantics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weak and strong, of each process and of whichever: tables say when actions can be taken, and what they do."""
    path, constant = tmp_path / "marked.py", tmp_path / "constant.py"
    path.write_text(marked())
    code = LiveCode.of(Model(Configuration(protocol=str(path), nodes=2)), (), False)[0]
    source, counts = random.Random(5), {True: 0, False: 0}
    for _ in range(1000 if EVERY else 12):
        table = drawn_table(source)
        constant.write_text(marked(table))
        asked_for = {"protocol": str(constant), "nodes": 2, "network": "datagrams", "budgets": {}, "properties": []}
        starves = explore({**asked_for, "live": True})["goals"]["leaves"]["result"] == "violated"
        initial = with_rules(code.model, table)
        monkeypatch.setattr(type(code.model.program), "initial", lambda _, begins=initial: begins.copy())
        run = LiveRun(code, 1)
        live = run.run(Limits(None, None, None, None))
        assert live.complete, live.stopped
        assert starves == ("leaves" in live.found), table
        counts[starves] += 1
        if starves:
            found = lasso_of(run, live.found["leaves"])
            hold_fair(Model(found.configuration), found.schedule, found.lasso)
    assert min(counts.values()) > 1


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ('fair="often"', 'fair is "weak", "strong" or False'),
        ('fair_to="everybody"', 'fair_to is "process"'),
        (
            'fair="strong", budget="tries"',
            "a step that costs a budget need not be taken: without tries it could be fair",
        ),
        ('fair_to="action", budget="tries"', "a step that costs a budget need not be taken"),
        ('fair=False, fair_to="action"', "fair=False contradicts"),
    ],
)
def test_a_fairness_that_cannot_be_is_refused_with_its_line(mark: str, said: str, tmp_path: Path) -> None:
    source = marked().replace("when=may_0", f"when=may_0, {mark}")
    (tmp_path / "marked.py").write_text(source)
    line = next(k for k, text in enumerate(source.split("\n"), 1) if mark in text)
    with pytest.raises(ConfigError, match=f"marked.py:{line}: .*{said}"):
        Model(Configuration(protocol=str(tmp_path / "marked.py")))


def test_an_answer_says_which_fairness_it_assumes(tmp_path: Path) -> None:
    (tmp_path / "marked.py").write_text(marked())
    (said,) = (one for one in assumed(Model(Configuration(protocol=str(tmp_path / "marked.py")))) if "acts-0" in one)
    assert said.endswith(
        "each process takes it if it can: acts-0; some process takes it if one can: acts-2; each process takes it if "
        "it can infinitely often (strongly fair): acts-1; some process takes it if one can infinitely often "
        "(strongly fair): acts-3"
    )
