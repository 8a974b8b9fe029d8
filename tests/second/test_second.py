"""Random protocols: the generator's are protocols, and every engine says of them what the second explorer says.

The campaign itself is `python -m tests.second`; here are as many protocols as a suite can afford, of fixed seeds.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from checker.explore import compiled
from checker.explore.memory import Budget
from checker.explore.reduce.ample import Narrowing
from checker.explore.result import Exploration, Limits
from invariants.registry import STEP
from tests.second.generator import Generated, protocol
from tests.second.generator.coverage import CONSTRUCTS, CROSSED, constructs, table
from tests.second.generator.favoured import drawn
from tests.second.harness import tlc
from tests.second.harness.book import ROOT, Book, Reference
from tests.second.harness.campaign import summary
from tests.second.harness.checking import ENGINES, ORDER, REDUCTIONS, USUAL, Outcome, check, compare
from tests.second.harness.differences import stepwise
from tests.second.harness.plain import Renamer, canonical
from tests.second.harness.question import Question
from tests.second.harness.searching import blind_to_mail, runs_differ
from tests.second.harness.stepping import Interpreted, Steps
from tests.second.harness.tlc import parsed
from tests.second.plants import PLANTS
from zabspec.language import LanguageError
from zabspec.model import Model

FAST = (17, 201, 204)
MORE = (200, 203)
# a search with ample sets that takes every step for invisible visits less of its states; drawn by an earlier generator
UNSEEN = Generated(60237, **json.loads((Path(__file__).parents[1] / "data/unseen.json").read_text("utf-8")))


@pytest.fixture(scope="module")
def reference() -> Iterator[Reference]:
    with Reference() as made:
        yield made


def held(made: int | Generated, folder: Path, reference: Reference, *engines: str) -> Outcome:
    outcome = check(protocol(made) if isinstance(made, int) else made, folder, engines or USUAL, reference)
    assert outcome.status == "same", "\n".join([outcome.line(), *(str(d) for d in outcome.differences.items())])
    return outcome


# --- the generator --------------------------------------------------------------------------------------


def test_a_seed_gives_one_protocol() -> None:
    assert protocol(5).text == protocol(5).text
    assert protocol(5).request == protocol(5).request
    assert protocol(5).text != protocol(6).text


@pytest.mark.slow(seconds=1)
def test_every_protocol_is_one_that_the_product_takes(tmp_path: Path) -> None:
    """A protocol that is refused says nothing: the generator knows what the language is."""
    ordered = next(seed for seed in range(100, 1000) if protocol(seed).features["order"])
    for seed in (*range(8), ordered):
        made = protocol(seed)
        path = tmp_path / f"random_{seed}.py"
        path.write_text(made.text)
        question = Question({**made.request, "protocol": str(path)})
        if made.features["order"]:
            with pytest.raises(LanguageError, match=ORDER):
                question.check()
        else:
            question.check()


@pytest.mark.slow(seconds=2)
def test_the_generator_uses_the_whole_language() -> None:
    used = Counter(name for seed in range(40) for name in constructs(protocol(seed).text))
    assert len([name for name in CONSTRUCTS if not used[name]]) < len(CONSTRUCTS) // 12
    assert any("LOW" in line for line in table(Counter(), 40, 1))


@pytest.mark.slow(seconds=2)
def test_roles_maps_and_timers_are_crossed(tmp_path: Path, reference: Reference) -> None:
    """In few protocols nearly everything that is counted of them is there; one is held against the reference, who
    waits for ever too."""
    wanted = ["roles+crossed+timers", "crossed+maps", "datagrams: roles+crossed+crash_inside"]
    made = [drawn(seed, wanted) for seed in range(500000, 500045)]
    used = {name for one in made for name in constructs(one.text)}
    assert {*CROSSED} - used <= {"fair to the action", "strong fairness", "optional name"}
    assert all(sum(one.request["budgets"].get(r, 0) for r in one.request.get("roles", ())) in (0, one.request["nodes"])
               for one in made)  # fmt: skip
    timed = [one for one in made if "@progress" in one.text and "roles=" in one.text]
    live = min(timed, key=lambda one: (one.request["nodes"], sum(one.request["budgets"].values())))
    outcome = check(live, tmp_path, (*USUAL, "live"), reference)
    assert outcome.status == "same", outcome.line()
    assert {"roles x maps", "maps x choices"} <= {*outcome.has}


@pytest.mark.parametrize(
    ("quorums", "orders"), [("", 6), ("weights 2,2,1", 6), ("weights 2,1,1", 2), ("groups {1,2},{3}", 6)]
)
def test_renamings_of_the_reference_keep_the_system(quorums: str, orders: int) -> None:
    ballots = str(Path(__file__).parents[1] / "quorums" / "ballots.py")
    asked = {"protocol": ballots, "nodes": 3, "network": "datagrams", "budgets": {"asks": 1}, "quorums": quorums}
    question = Question({**asked, "properties": []})
    assert len(Renamer(question.plain, question.configuration.quorums).orders) == orders


# --- engines against the second explorer -------------------------------------------------------------------


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("seed", FAST)
def test_engines_say_what_the_second_explorer_says(seed: int, tmp_path: Path, reference: Reference) -> None:
    outcome = held(seed, tmp_path, reference)
    assert {"interpreted", "compiled"} <= set(outcome.compared)


@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize("seed", MORE)
def test_more_engines_say_it_too(seed: int, tmp_path: Path, reference: Reference) -> None:
    held(seed, tmp_path, reference, *USUAL, "checkpointed", "simulated", "symbolic", "distributed")


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("seed", [61003, 61010])
def test_simulated_runs_that_were_none_of_the_model(seed: int, tmp_path: Path, reference: Reference) -> None:
    """61003: an election and its voters' following are one step. 61010: a message to a leader that is down was received
    by its handler."""
    outcome = held(seed, tmp_path, reference, "simulated")
    assert outcome.compared == ["simulated"]


@pytest.mark.slow(seconds=3)
def test_a_process_that_is_down_abcasts_in_no_run(tmp_path: Path, reference: Reference) -> None:
    """One whose crash leaves its role as it was did, in simulated runs."""
    made = drawn(110079, ["connections duplicating: bounded_by_world"])
    assert "abcast(" in made.text
    outcome = check(made, tmp_path, ("simulated",), reference)
    assert (outcome.status, outcome.compared) == ("same", ["simulated"]), outcome.line()


SPENDS = """
from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, action, declare, on_disk, volatile

D = Annotated[int, Range(0, 2)]


class State(Fields):
    d: Each[Node, D] = on_disk("")
    role: Each[Node, D] = volatile("")
    leader: Each[Node, Node] = volatile("")


def less(s: State, p: Node) -> bool:
    return s.d[p] < 2
@action(when=less, budget="tries")
def more(s: State, p: Node) -> None:
    s.d[p] += 1
@action(when=less, budget="power_losses")
def write(s: State, p: Node) -> None:
    s.d[p] += 1
def on_oracle(s: State, p: Node, k: int) -> None:
    s.role[p] = 2
PROTOCOL = declare(__name__, nodes=1, world="connections",
    budgets={"tries": 1, "crashes": 0, "power_losses": 0})
"""

OF_DISKS = ("interpreted", "compiled", "checkpointed", "distributed")


@pytest.mark.slow(seconds=6)
def test_a_step_that_spends_a_failure_itself_fails_inside_if_two_are_left(tmp_path: Path, reference: Reference) -> None:
    """S10, in engines that take disks; of a crash: tests/worlds/test_storage.py."""
    path = tmp_path / "spends.py"
    path.write_text(SPENDS)
    for amount in (1, 2):
        amounts = {"tries": 1, "crashes": 0, "power_losses": amount}
        request = {"protocol": str(path), "nodes": 1, "network": "fifo", "budgets": amounts, "properties": []}
        question, book, outcome = Question(request), reference.explore(request), Outcome(0)
        assert book.complete
        failing = {label for labels in book.next[0].values() for label in labels if label.endswith("_inside")}
        assert failing == {"power_loss_inside"}
        differences = compare(question, book, OF_DISKS, outcome, reference.explore)
        assert not differences, "\n".join(str(d) for d in differences)
        assert set(OF_DISKS) <= set(outcome.compared)


# --- what the harness sees -----------------------------------------------------------------------------------


class Lossy(Interpreted):
    """An interpreter that leaves out one step of one state."""

    def __init__(self, question: Question, state: str) -> None:
        super().__init__(question)
        self.state = state

    def steps(self, state: bytes) -> Steps:
        moves, errors = super().steps(state)
        return (moves[1:] if self.question.plain.text(state) == self.state else moves), errors


@cache
def small(folder: Path) -> tuple[Generated, Question, Book]:
    made = protocol(17)
    path = folder / "random.py"
    path.write_text(made.text)
    request: dict[str, Any] = {**made.request, "protocol": str(path), "max_states": 80, "properties": []}
    with Reference() as reference:
        return made, Question(request), reference.explore(request)


def test_a_step_that_is_left_out_is_shown_with_the_run_that_leads_to_it(tmp_path_factory: Any) -> None:
    _, question, book = small(tmp_path_factory.getbasetemp())
    one = {k: labels for k, labels in enumerate(book.next) if len(labels) > 1 and k in book.expanded_set}
    k = max(one)
    assert stepwise(question, book, Interpreted(question)) is None
    found = stepwise(question, book, Lossy(question, book.keys[k]))
    assert found is not None
    assert "missing" in found.what
    assert f"the state: {book.keys[k]}" in found.lines


def test_a_run_that_violates_nothing_is_shown(tmp_path: Path, reference: Reference) -> None:
    """A search that names the right properties, with a run that does not break one or that is none."""
    question, book, r = violated(tmp_path, reference)
    assert runs_differ("compiled", question, book, r) is None
    name, found = next(iter(r.violations.items()))
    shorter = replace(r, violations={name: replace(found, schedule=found.schedule[:-1])})
    assert "violates no property" in str(runs_differ("compiled", question, book, shorter))
    twice = replace(r, violations={name: replace(found, schedule=found.schedule[:1] * 2)})
    assert runs_differ("compiled", question, book, twice) is not None


def violated(folder: Path, reference: Reference) -> tuple[Question, Book, Exploration]:
    """A question of which a property of states is violated beyond the first step, and its search."""
    for seed in range(372, 500):
        path = folder / f"random_{seed}.py"
        path.write_text(protocol(seed).text)
        request = {**protocol(seed).request, "protocol": str(path)}
        question = Question(request)
        r = Interpreted(question).search(Limits(depth=4))
        deep = {name: found for name, found in r.violations.items() if found.depth > 1 and found.property.of != STEP}
        if deep:
            return question, reference.explore(request), replace(r, violations=deep)
    raise AssertionError("no protocol has one")


@pytest.mark.slow(seconds=3)
def test_what_an_ample_search_leaves_out_is_seen(
    tmp_path: Path, reference: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that takes every step for invisible meets less of what properties read, and violates no property. The
    protocol closes its connections: with what stands in for one that is left open nothing would be left out of it."""
    monkeypatch.setattr(Model, "leaving", ())
    assert held(UNSEEN, tmp_path, reference, "ample").compared == ["ample sets"]
    monkeypatch.setattr(Narrowing, "read_of_states", frozenset())
    monkeypatch.setattr(Narrowing, "also_key", lambda self: ("blind",))
    outcome = check(UNSEEN, tmp_path, ("ample",), reference)
    assert outcome.differences["ample sets"][0] == "what properties read: missing"


@pytest.mark.slow(seconds=2)
def test_symmetry_that_walks_switch_off_is_a_difference(
    tmp_path: Path, reference: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its text a protocol is symmetric, and what renames states is not right: it is no reason to pass over it."""
    monkeypatch.setenv("ZABCHECK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(compiled, "why_not_symmetric", lambda code: "renamings do not commute")
    found = check(protocol(60015), tmp_path, ("symmetric",), reference).differences
    assert found["symmetric"][1:] == ["renamings do not commute"]


@pytest.mark.slow(seconds=2)
def test_beside_a_property_of_messages_others_are_judged(tmp_path: Path) -> None:
    """Stuttering receipts are left out where those properties are judged that do not look at the mail."""
    path = tmp_path / "random.py"
    for seed in range(94, 300):  # of those below none is over ordered connections
        made = protocol(seed)
        if "def claim_of_round(" in made.text and made.request["network"] == "ordered":
            path.write_text(made.text)
            question = Question({**made.request, "protocol": str(path)})
            blind = {p.name for p in blind_to_mail(question)}
            assert "claim-of-round" not in blind
            if blind:
                return
    raise AssertionError("no protocol has one")


def test_faults_are_planted_in_texts_that_stand_there() -> None:
    for name, plant in PLANTS.items():
        assert plant.old in (ROOT / plant.file).read_text(), name
        assert plant.old != plant.new
        assert set(plant.engines.split(",")) <= {*ENGINES, *REDUCTIONS}


def test_renaming_is_of_processes_alone(tmp_path_factory: Any) -> None:
    """All renamings of a state have the same least one, and renaming twice comes back."""
    _, question, book = small(tmp_path_factory.getbasetemp())
    renamer = Renamer(question.plain)
    for key in book.keys[:20]:
        value = question.plain.value(question.starts[0]) if key == book.keys[0] else json.loads(key)
        for order in renamer.orders:
            back = tuple(order.index(p) for p in range(len(order)))
            image = renamer.renamed(value, order)
            assert renamer.orbit(canonical(image))[0] == renamer.orbit(key)[0]
            assert renamer.renamed(image, back) == value


def test_values_are_read_as_tlc_writes_them() -> None:
    assert parsed("[a |-> 1, b |-> (p0 :> <<>> @@ p1 :> <<[k |-> -1]>>)]") == {
        "a": 1,
        "b": {"p0": [], "p1": [{"k": -1}]},
    }
    assert parsed('{TRUE, "x", NOBODY}') == [True, "x", "NOBODY"]


def test_what_has_no_answer_within_its_limits_is_undecided(
    tmp_path: Path, reference: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no difference, and not the same."""

    def endless(command: list[str], **_: object) -> None:
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(tlc, "tlc_jar", lambda: tmp_path)
    monkeypatch.setattr(tlc, "tlc_command", lambda *_: [])
    monkeypatch.setattr(tlc.subprocess, "run", endless)
    asked = (check(protocol(seed), tmp_path, ("interpreted", "tlc"), reference) for seed in range(50000, 50040))
    outcome = next(one for one in asked if one.status != "same")
    assert (outcome.status, outcome.compared) == ("undecided", ["interpreted"])
    assert "TLC did not come to an end within" in outcome.line()
    with Reference(0.0) as hurried:
        slow = check(protocol(0), tmp_path, ("interpreted",), hurried)
    assert (slow.status, slow.compared) == ("undecided", [])
    said = "\n".join(summary([outcome, slow]))
    assert "2 protocols: 2 undecided" in said
    assert "undecided: 0: reference: the reference took longer than 0 s" in said


def test_a_search_that_the_machine_ends_is_undecided(
    tmp_path: Path, reference: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where others leave no memory: what it has not reached is no difference."""
    monkeypatch.setattr(Budget, "exceeded", lambda budget, soon=0: True)
    outcome = check(protocol(0), tmp_path, ("compiled",), reference)
    assert outcome.status == "undecided", outcome
    assert "what this machine has" in outcome.undecided["compiled"]
