"""The second semantics' opinion of a search: agreed on what is right, no verdict on what is faulty."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration
from checker.report.report import Explored
from checker.requests.explore import Explore
from zabspec.second import properties
from zabspec.second.world import World
from zabspec.worlds.steps import RECEIVE

pytestmark = pytest.mark.usefixtures("usual_opinion")

ZAB = Explore(nodes=2, txns=1, timeouts=1, crashes=1, losses=0, evidence="explored")
RING = Explore("example:token_ring", evidence="explored")  # over datagrams, with stuttering receipts
VIOLATED = Explore("example:causal_broadcast", keep_going=True, max_states=3000, evidence="explored")
TERMS = Explore("example:raft_election", depth=9, evidence="explored")  # a property of steps that has a premise
ASKED = {
    "zab": ZAB,
    "a variant, interpreted, without symmetry": Explore(
        variant="join-commit-all", nodes=2, txns=1, timeouts=1, depth=8, symmetry=False, engine="interpret"
    ),
    "db19": Explore("db19", nodes=2, txns=1, timeouts=2, depth=9),
    "a user protocol": RING,
    "roles and properties of steps": Explore("example:paxos", depth=6),
    "violated": VIOLATED,
}


ERRS = """
from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, Size, action, declare, safety, volatile


class State(Fields):
    count: Each[Node, Annotated[int, Range(0, 2)]] = volatile("how often it has counted")


@action()
def counts(s: State, p: Node) -> None:
    s.count[p] += 1


def counted(s: State) -> bool:
    return s.count[0] > 0


@safety(witness=counted)
def few(s: State) -> bool:
    "Few are counted."
    return s.count[0] < 9


PROTOCOL = declare(__name__)
"""


@pytest.mark.parametrize("request_of", ASKED.values(), ids=ASKED)
def test_it_agrees(request_of: Explore) -> None:
    second = request_of.answer().second
    assert (second.difference, second.none) == ("", "")
    assert second.states >= 20
    assert second.steps > second.states
    assert second.judged
    assert not [name for name in second.not_compared if not name.startswith("steps ")]


def test_every_form_of_a_report_has_it() -> None:
    answer = ZAB.answer()
    said = dict(answer.figures())["second opinion"]
    assert "agreed" in said
    assert "21 properties: agreed" in said
    assert answer.as_json()["second_opinion"]["seed"] == 200
    assert "Second opinion: " in answer.html()
    assert "agreed" in " ".join(answer.text().split())


def test_it_is_turned_off_and_larger_on_request() -> None:
    without = Explore(nodes=2, txns=1, depth=6, second_opinion="none", evidence="explored").answer()
    assert "second_opinion" not in without.as_json()
    assert "second opinion" not in dict(without.figures())
    assert Explore(nodes=2, txns=1, second_opinion=400, evidence="explored").answer().second.states >= 400


def test_what_it_cannot_compare_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(*_: object) -> None:
        raise NotImplementedError("no such construct")

    monkeypatch.setattr("zabspec.second.own.configure.user_model", lacks)
    answer = RING.answer()
    assert answer.exit_code == 0
    assert dict(answer.figures())["second opinion"].startswith("none: the second semantics does not run it")


def test_a_run_to_an_error_ends_before_the_step_that_fails(tmp_path: Path) -> None:
    (tmp_path / "errs.py").write_text(ERRS)
    answer = Explore(str(tmp_path / "errs.py"), evidence="explored").answer()
    assert answer.exit_code == 1
    assert answer.second.states >= 2
    assert answer.second.difference == ""


@pytest.mark.parametrize("engine", ["compiled", "interpret"])
def test_a_premise_of_steps_that_errs_is_an_error_of_the_search(tmp_path: Path, engine: str) -> None:
    text = ERRS.replace("counted(s: State)", "counted(before: State, event: State, s: State)")
    text = text.replace("s.count[0] > 0", "s.count[s.count[0] + 2] > 0").replace("(witness", '(over="step", witness')
    (tmp_path / "errs.py").write_text(text.replace("few(s: State)", "few(before: State, event: State, s: State)"))
    answer = Explore(str(tmp_path / "errs.py"), engine=engine, evidence="explored").answer()
    assert (answer.exit_code, answer.second.difference, answer.second.none) == (1, "", "")
    assert answer.exploration.failed


def test_a_field_that_is_declared_again_is_one(tmp_path: Path) -> None:
    base = 'class Base(Fields):\n    count: Each[Node, Annotated[int, Range(1, 9)]] = volatile("another count")\n\n\n'
    text = ERRS.replace("class State(Fields)", f"{base}class State(Base)").replace("s.count[p] += 1", "s.count[p] = 1")
    (tmp_path / "again.py").write_text(text)
    second = Explore(str(tmp_path / "again.py"), evidence="explored").answer().second
    assert (second.difference, second.none, second.states) == ("", "", 8)


@pytest.mark.parametrize("name", ["world", "cells", "load", "names"])
def test_a_field_may_have_any_name(tmp_path: Path, name: str) -> None:
    """What functions see as `s` had attributes of these names, which hid fields, or were hidden by them."""
    text = ERRS.replace("count: Each[Node, Annotated[int, Range(0, 2)]] = volatile", "NAME: Node = shared")
    text = text.replace("volatile", "shared").replace("s.count[p] += 1", "s.NAME = p").replace("s.count[0]", "s.NAME")
    (tmp_path / "named.py").write_text(text.replace("NAME", name))
    second = Explore(str(tmp_path / "named.py"), evidence="explored").answer().second
    assert (second.difference, second.none, second.states) == ("", "", 4)


RECEIVES = """
from __future__ import annotations

from zabcheck.language import Fields, MessageType, Node, State, action, declare, receives, safety, send


class PING(MessageType): ...


class State(Fields): ...


@action(budget="begins")
def begin(s: State, p: Node) -> None:
    send(s, p, 0, PING())


@receives
def on_ping(s: State, p: Node, m: PING) -> None:
    pass


def received(before: State, event: State, after: State) -> bool:
    return event.event_message.kind == PING


@safety(over="step", witness=received)
def no_receipt(before: State, event: State, after: State) -> bool:
    "Nothing is received."
    return event.event_message.kind != PING


PROTOCOL = declare(__name__, nodes=2, budgets={"begins": 2})
"""


@pytest.mark.parametrize("name", ["self", "declared", "given"])
def test_a_field_of_a_message_may_have_any_name(tmp_path: Path, name: str) -> None:
    text = RECEIVES.replace("class PING(MessageType): ...", f"class PING(MessageType):\n    {name}: bool")
    text = text.replace("PING()", f"PING({name}=True)").replace("pass", f"assert m.{name} == True")
    (tmp_path / "named.py").write_text(text)
    answer = Explore(str(tmp_path / "named.py"), reduction="none", evidence="explored").answer()
    assert (answer.overall, answer.second.difference, answer.second.none) == ("violated", "", "")


def test_a_step_that_is_left_out_and_violates_a_property_is_no_difference(tmp_path: Path) -> None:
    (tmp_path / "receives.py").write_text(RECEIVES)
    answer = Explore(str(tmp_path / "receives.py"), keep_going=True, evidence="explored").answer()
    assert answer.sentence.startswith("VIOLATED: no-receipt at depth 2"), answer.sentence
    assert answer.second.steps


# --- planted faults --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plant:
    """A fault: what is replaced, by what, given the true one, and the searches that it concerns."""

    owner: Any
    name: str
    other: Callable[[Any], Any]
    requests: tuple[Explore, ...] = (ZAB, RING)


def one_fewer(true: Any) -> Any:
    return lambda self, data: true(self, data)[:-1]


def other_effect(true: Any) -> Any:
    def steps(self: Any, data: bytes) -> Any:
        *rest, (word, after) = true(self, data) or [(0, b"")]
        return [*rest, (word, data + after[len(data) :])] if after else []

    return steps


def one_lost(true: Any) -> Any:
    return lambda self, fingerprint: bool(fingerprint % 7) and true(self, fingerprint)


def halved(true: Any) -> Any:
    return lambda self, data: (true(self, data)[0] % 5 + 1, true(self, data)[1])


def unviolated(true: Any) -> Any:
    return lambda self, data, live: (0, *true(self, data, live)[1:])


def unmet(true: Any) -> Any:
    return lambda self, *step: (true(self, *step)[0], 0)


def unreported(what: str) -> Callable[[Any], Any]:
    def planted(true: Any) -> Any:
        def run(self: Any, *args: Any, **settings: Any) -> Any:
            r = true(self, *args, **settings)
            setattr(r, what, {})
            return r

        return run

    return planted


def renamed(function: Any, other: Any) -> Any:
    function.__name__ = other.__name__
    return function


PLANTS = {
    "a step is missing": Plant(Compiled, "next_states", one_fewer),
    "a step has another effect": Plant(Compiled, "next_states", other_effect),
    "states are missing": Plant(Explorer, "knows", one_lost),
    "states are taken for others": Plant(Compiled, "canonical", halved),
    "a violated state is none": Plant(Compiled, "judged_state", unviolated, (VIOLATED,)),
    "a violation is not reported": Plant(Explorer, "run", unreported("violations"), (VIOLATED,)),
    "a premise is not reported": Plant(Explorer, "run", unreported("witnessed"), (RING, TERMS)),
    "a step that meets a premise does not": Plant(Compiled, "judged_step", unmet, (TERMS,)),
    "the second semantics lacks a step": Plant(
        World, "steps", lambda true: lambda self, state: [s for s in true(self, state) if s.label != "receive"], (RING,)
    ),
    "the second semantics judges steps otherwise": Plant(
        properties, "OF_STEPS", lambda true: (*true[:3], renamed(lambda *_: False, true[3])), (ZAB,)
    ),
    "an error of a property is missed": Plant(
        properties.Judge, "_ask", lambda _: lambda self, *asked: self.errors.append("division by zero"), (RING,)
    ),
    "the interpreter lacks a step": Plant(
        Interpreter,
        "attempts",
        lambda true: lambda self, state: list(true(self, state))[1:],
        (Explore("example:token_ring", engine="interpret", reduction="none", evidence="explored"),),
    ),
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_planted_faults_are_no_verdict(monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    monkeypatch.setattr(plant.owner, plant.name, plant.other(getattr(plant.owner, plant.name)))
    for request in plant.requests:
        contradicted(request.answer())


def test_what_a_search_leaves_out_is_judged_too(monkeypatch: pytest.MonkeyPatch) -> None:
    every = f"def stutters(before: State, after: State) -> bool:\n    return after.event == {RECEIVE}"
    monkeypatch.setattr("checker.explore.compiled.stutters_text", lambda _: every)
    monkeypatch.setattr("checker.opinion.searched.stutters", lambda _, before, after: after.event == RECEIVE)
    answer = replace(RING, properties=("mutual-exclusion",)).answer()
    contradicted(answer)
    assert "a premise of mutual-exclusion is met" in answer.sentence


def test_the_states_of_a_small_search_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Exploration, "raw", property(lambda r: sum(r.raw_levels) + 1))
    answer = RING.answer()
    contradicted(answer)
    assert "states of the search are" in answer.sentence


def contradicted(answer: Explored) -> None:
    assert answer.exit_code == 3
    assert answer.sentence.startswith("no verdict: the second semantics contradicts the verdict: ")
    assert {v.verdict for v in answer.said()} == {"no verdict"}
    assert "DIFFER" in dict(answer.figures())["second opinion"]


@pytest.mark.parametrize("count", [1, 3, 14, 30])
def test_a_search_that_ended_at_a_violation_is_contradicted_by_no_run(count: int) -> None:
    """A receipt that is left out leads to states that the search finds deeper, and had not expanded."""
    answer = Explore("example:lease", "late", second_opinion=count, evidence="explored").answer()
    assert answer.sentence.startswith("VIOLATED: one-holder at depth 8"), answer.sentence


def test_a_difference_is_in_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command names the file, which has the state, the run to it, and the steps of both."""
    from checker.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Compiled, "next_states", one_fewer(Compiled.next_states))
    with pytest.raises(SystemExit) as ended:
        main(["--nodes", "2", "--txns", "1", "--depth", "8", "--json"])
    assert ended.value.code == 3
    said = json.loads(capsys.readouterr().out)["second_opinion"]
    details = json.loads((tmp_path / said["file"]).read_text())
    assert details["difference"] == said["difference"]
    assert details["state"]["fields"]
    assert details["only_in_second"]
    assert not details["only_in_search"]
