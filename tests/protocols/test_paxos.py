"""Paxos in one file: Figure 1 of DSN'11 is a run of it, and with one proposal outstanding primary order holds."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.result import Exploration, Limits
from checker.explore.symmetry import asymmetry
from invariants import Property, properties_of
from tests.models import compiled, python_names, python_successors
from traces import build_trace, verify, why
from traces.record.trace import StepWord
from traces.replay.replay import replay
from zabspec.language import StateView
from zabspec.model import Configuration, Model

TOP = Path(__file__).parents[2]
PAXOS = str(TOP / "examples/paxos.py")
PAGE = " ".join((TOP / "benchmarks/results/paxos.md").read_text().split())
FIGURES = TOP / "benchmarks/results/paxos.json"
LARGE = Configuration(protocol=PAXOS, txns=3, budgets="campaigns=3")
SMALL = Configuration(protocol=PAXOS, txns=2, budgets="campaigns=2")
ONE_AT_A_TIME, ROUNDS_ALONE = "one-at-a-time", "rounds-alone"
PRIMARY_ORDER = ("local-primary-order", "global-primary-order")

# P1 is p1, P2 is p2, P3 is p0. On a network in order what a process can receive of another is one message.
FIGURE_1 = """
p1 campaigns            with ballot 2, its first
p0 receives from p1     and promises
p1 receives from p0     and leads
p1 abcasts              A, which nobody else ever accepts
p2 campaigns            with ballot 3
p0 receives from p2     and promises
p2 receives from p0     and leads: nobody that it asked had accepted anything
p2 abcasts              C, for the slot of A
p1 abcasts              B, without waiting for A
p0 receives from p1     the proposal of A, of a ballot that it has left
p0 receives from p2     and accepts C
p0 receives from p1     that of B
p0 campaigns            with ballot 4
p1 receives from p0     and promises; it had accepted A and B in ballot 2
p0 receives from p1     the promise: it proposes C again for the first slot, and B for the second
p1 receives from p0     and accepts C
p0 receives from p1     so C is chosen, and delivered
p1 receives from p0     and accepts B
p0 receives from p1     so B is chosen, and delivered, after C and without A
"""
KINDS = {"campaigns": "action", "abcasts": "abcast", "receives": "receive"}


def schedule() -> list[tuple[str, dict[str, int]]]:
    """The steps of the figure: what kind each is, and whose."""
    rows = re.findall(r"^p(\d) (\w+)(?: from p(\d))? ", FIGURE_1, flags=re.MULTILINE)
    return [
        (KINDS[what], {"process": int(p)} | ({"source": int(source)} if source else {})) for p, what, source in rows
    ]


def step(configuration: Configuration, data: bytes, kind: str, whose: dict[str, int]) -> tuple[int, bytes] | None:
    """The step of that kind that these processes can take, and the state after it; None: there is none."""
    size = Model(configuration).program.layout.size
    for word, after in python_successors(configuration, data):
        said = StepWord.of(word)
        if said.kind == kind and whose.items() <= dict(said.operands).items():
            return word, after[:size]
    return None


def broken(configuration: Configuration, data: bytes) -> list[str]:
    names, view = python_names(configuration), StateView(Model(configuration).program.layout, data)
    return [p.name for p in properties_of(PAXOS) if p.name in PRIMARY_ORDER and not names[p.holds.__name__](view)]


def test_figure_1_is_a_run_that_breaks_primary_order_at_its_last_step() -> None:
    model = Model(LARGE)
    data, words = model.program.initial().key(), []
    for kind, whose in schedule():
        assert broken(LARGE, data) == []
        taken = step(LARGE, data, kind, whose)
        assert taken is not None, (len(words) + 1, kind, whose)
        words.append(taken[0])
        data = taken[1]
    assert broken(LARGE, data) == list(PRIMARY_ORDER)
    view = StateView(model.program.layout, data)
    assert [(t.value, t.epoch) for t in view.delivered[0]] == [(2, 3), (3, 2)], "C, then B"
    said = "Primary p1 broadcast t1 <2,1> before t3 <2,2>, but p0 delivered t3 <2,2> without t1 <2,1>"
    assert f"{said}." in PAGE
    for name in PRIMARY_ORDER:
        trace = build_trace(model, next(p for p in properties_of(PAXOS) if p.name == name), tuple(words))
        verify(trace)
        assert len(replay(trace).steps) == 19
        assert name != PRIMARY_ORDER[0] or why(trace).startswith(said)


def test_one_outstanding_proposal_disables_the_second_broadcast() -> None:
    waiting = Configuration(protocol=PAXOS, variant=ONE_AT_A_TIME, txns=3, budgets="campaigns=3")
    data = Model(waiting).program.initial().key()
    *before, (kind, whose) = schedule()[:9]
    for earlier in before:
        taken = step(waiting, data, *earlier)
        assert taken is not None, earlier
        data = taken[1]
    assert (kind, whose) == ("abcast", {"process": 1})
    assert step(waiting, data, kind, whose) is None


# --- explored --------------------------------------------------------------------------------------


def judged() -> tuple[Property, ...]:
    return tuple(p for p in properties_of(PAXOS) if p.default and p.judges(PAXOS))


@cache
def explored(variant: str) -> Exploration:
    """The small budget to exhaustion, every property judged, each as far as it goes."""
    asked = Configuration(protocol=PAXOS, variant=variant, txns=2, budgets="campaigns=2")
    return Explorer(compiled(asked, False, judged())).run(Limits(), keep_going=True)


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(("column", "variant"), [(0, ""), (1, ONE_AT_A_TIME)], ids=["several", "one"])
def test_the_page_s_table_of_verdicts_is_what_is_found(column: int, variant: str) -> None:
    found = explored(variant)
    assert found.complete
    told = {row[0].strip("`"): row[1:] for row in json.loads(FIGURES.read_text())["verdicts"]["rows"]}
    assert list(told) == [p.name for p in found.properties]
    for p in found.properties:
        verdict = {"holds": "holds, witnessed at", "violated": "**violated** at", "not reached": "not reached"}
        depth = found.violations[p.name].depth if p.name in found.violations else found.witnessed.get(p.name)
        at = "" if depth is None else f" {depth}"
        assert told[p.name][column] == f"{verdict[found.verdict(p)]}{at}", p.name
    assert f"{found.distinct:,} states" in PAGE


def test_ballots_tell_processes_apart_and_the_text_says_where() -> None:
    line = next(k for k, text in enumerate(Path(PAXOS).read_text().splitlines(), 1) if "s.NODES + p + 1" in text)
    said = f"the protocol distinguishes processes: arithmetic (+) on a process (examples/paxos.py:{line})"
    assert asymmetry(Model(SMALL), judged()) == said
    assert f"off: {said} " in PAGE


def test_rounds_alone_tell_no_processes_apart() -> None:
    assert asymmetry(Model(replace(SMALL, variant=ROUNDS_ALONE)), judged()) == ""


# --- simulated -------------------------------------------------------------------------------------


def outstanding(variant: str, folder: Path) -> tuple[list[int], int]:
    """A run with one primary and twenty transactions, due every ten ticks: how many of them were outstanding after
    each abcast, and how many messages were sent."""
    events, flags = folder / "events.jsonl", ["--variant", variant] if variant else []
    words = ["--proposals", "20", "--campaigns", "1", "--rounds", "200", "--delay", "5:5", "--events", str(events)]
    done = CliRunner().invoke(main, ["simulate", "--protocol", PAXOS, *flags, *words])
    assert done.exit_code == 0, done.stderr
    told = [json.loads(line) for line in events.read_text().splitlines()]
    primary = next(e["process"] for e in told if e["event"] == "abcast")
    abcast, delivered, out = 0, 0, []
    for e in told:
        if e["event"] == "abcast":
            abcast += 1
            out.append(abcast - delivered)
        elif e["event"] == "abdeliver" and e["process"] == primary:
            delivered += 1
    return out, sum(e["event"] == "send" for e in told)


def test_in_the_simulator_a_primary_waits_as_its_text_says(tmp_path: Path) -> None:
    """Three processes: 4 messages for the campaign and 6 for each transaction, however many are outstanding; what was
    not chosen when the run ended is short of its last two."""
    several, sent_of_several = outstanding("", tmp_path)
    assert max(several) > 1
    assert sent_of_several == 4 + 6 * len(several) - 2
    one, sent_of_one = outstanding(ONE_AT_A_TIME, tmp_path)
    assert set(one) == {1}
    assert sent_of_one == 4 + 6 * len(one) - 2
    assert f"broadcasts all {len(several)}, with {sent_of_several} messages" in PAGE
    assert f"{len(one)}, with {sent_of_one} messages" in PAGE
