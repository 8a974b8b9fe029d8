"""A model as a TLA+ module: TLC counts the same states, level by level as deep, and breaks what breaks as soon."""

from __future__ import annotations

import re
import resource
import subprocess
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.tlc import Counts, TlcFailed, parsed
from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Exploration, Limits
from checker.proofs.tla.control import gathered, without_idle_rounds
from checker.proofs.tla.env import Env, Fresh
from checker.proofs.tla.module import Module, Untranslatable, module_of
from checker.proofs.tla.syntax import FALSE, WIDTH, If, Let, Node, TlaText, conj, definition, disj, flat, let, neg
from invariants import properties_of
from invariants.registry import STEP, Property
from tests.proofs.tla.running import JAR, needs_tlc, run_tlc
from tests.sources import never, some
from zabspec.model import Configuration, Model

EXAMPLES = Path(__file__).parents[3] / "examples"
NONE = {"timeouts": 0, "crashes": 0, "losses": 0}
TINY = {"nodes": 2, "txns": 1, **NONE}


def asked(protocol: str) -> tuple[Property, ...]:
    """What is judged of a protocol unless one names properties."""
    return tuple(p for p in properties_of(protocol) if p.default and p.judges(protocol))


@cache
def module(**values: object) -> Module:
    model = Model(Configuration(**values))  # type: ignore[arg-type]
    return module_of(model, asked(model.configuration.protocol), "Model")


def explored(values: dict[str, object], symmetry: bool = False, through: bool = True) -> Exploration:
    model = Model(Configuration(**values))  # type: ignore[arg-type]
    code = Compiled(model, asked(model.configuration.protocol), symmetry, every_step=True)  # a module has them all
    return Explorer(code, 1).run(Limits(), keep_going=through)


def plain(values: dict[str, object], symmetry: bool = False) -> Counts:
    """TLC's counts, judging what values may be and nothing else: it ends where a property breaks."""
    given = module(**values)
    lines = (line for line in given.configuration.splitlines(True) if "INVARIANT" not in line or "TypeOK" in line)
    bare = Module(given.name, given.text, "".join(lines), given.left_out, given.symmetric)
    return run_tlc(JAR, bare, symmetry, limit=3000)


def same(values: dict[str, object]) -> None:
    theirs, ours = plain(values), explored(values)
    assert theirs.ended
    assert (theirs.distinct, theirs.generated) == (ours.distinct, ours.generated + 1), "TLC counts the initial state"
    assert theirs.levels == ours.depth + 1


@needs_tlc
@pytest.mark.slow(seconds=6)
def test_tlc_counts_the_same_states_as_deep() -> None:
    """Of zab with symmetry: `test_quorums.py`."""
    same({"protocol": "db19", "nodes": 2, "txns": 1, "timeouts": 2})


@pytest.mark.slow(seconds=1)
def test_a_module_has_the_text_s_own_names_and_says_what_they_are() -> None:
    text = module(**TINY).text
    for line in (
        "\\*   promised_epoch: f.p: the last new epoch proposal f acknowledged",
        "\\* f.1.1: The follower sends its last promise to the prospective leader.",
        "promises(s, f, epoch) == s.promised_epoch[f] <= epoch",
        "DurabilityHolds" if "DurabilityHolds" in text else "Durability == ",
        "Spec == Init /\\ [][Next]_state",
        "ToFollower(follower, leader2) ==\n  LET s == [state EXCEPT !.to_follower[follower] = Tail(@)]\n"
        "  IN  state' = receive_as_follower(s, follower, state.to_follower[follower][1])",
        "== Cardinality({q \\in Node : has_stored(s, q, t)})",
        "!.role[p] = ELECTION",
        '  \\/ m.kind = "CEPOCH" /\\ m.epoch \\in 0..',
        "Symmetry == Permutations(Node)",
    ):
        assert line in text
    for part in ("0x", "DropToFollower", "LoseConnection", "Through(_, _, _, _)\nThrough(Round(_, _), left, S)"):
        assert part not in text  # what no step of this model does is not there
    kept = re.findall(r"(\w+) == h\.abcast_txn", text)
    assert all(len(re.findall(rf"\b{name}\b", text)) > 1 for name in kept), "and nothing that is only said"
    assert module(**TINY).left_out == tuple(
        (p.name, "it is a property of steps, not of states") for p in asked("zab") if p.of == STEP
    )


@pytest.mark.slow(seconds=1)
def test_a_step_that_may_choose_is_done_once_where_it_does_not() -> None:
    """TLC would do it for every choice that there could be: `first` says whether there is one."""
    text = module(**{**TINY, "nodes": 3}).text
    step = text[text.index("\nToLeader(") : text.index("\nToFollower(")]
    assert "\\E first \\in {result(0)} :\n        IF   first.choices = 1\n        THEN state' = first\n" in step
    assert "ELSE \\E choice \\in 0..1 :\n               \\E t \\in {result(choice)} :" in step
    assert "state' = [t EXCEPT !.choice = 0, !.choices = 1]" in step
    assert text.count("\\E choice") == 1


def test_what_says_which_steps_there_are_asks_once() -> None:
    """Of two ways that exclude each other one condition says which it is, and what the text names has a name."""
    text = module(**{**TINY, "nodes": 3}).text
    listed = text[text.index("\nNext ==") : text.index("\nInit ==")]
    assert listed.count("state.role[p] = ELECTION") == 1
    assert "state.role[p] #" not in listed
    assert listed.count("state.link[f][p]") == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (disj(TlaText("x = k", True), TlaText("acc")), "\\E k \\in S : x = k"),
        (conj(TlaText("acc"), TlaText("x = k", True)), "FALSE"),
        (If(TlaText("x = k", True), TlaText("acc + 1"), TlaText("acc")), "Cardinality({k \\in S : x = k})"),
        (If(TlaText("acc = k", True), TlaText("acc + 1"), TlaText("acc")), None),
        (disj(TlaText("acc = k", True), TlaText("acc")), None),
    ],
)
def test_a_loop_that_only_looks_is_a_quantifier(body: Node, said: str | None) -> None:
    counts = isinstance(body, If)
    found = gathered(body, "acc", "k", "S", "0" if counts else "FALSE")
    assert (None if found is None else flat(found).text) == said


ROUND = TlaText("(35 - i) < Len(s2.in_flight)", True)
DONE = TlaText("[s2 EXCEPT !.done = TRUE]")


@pytest.mark.parametrize(
    ("body", "begin", "over"),
    [
        (If(conj(ROUND, TlaText("c")), DONE, TlaText("s2")), "s", "Max(0, 36 - Len(s.in_flight))..35"),
        (If(ROUND, DONE, TlaText("s2")), "s", "Max(0, 36 - Len(s.in_flight))..35"),
        (If(ROUND, DONE, TlaText("s3")), "s", None),  # it does something where the sequence is not as long
        (If(ROUND, DONE, TlaText("s2")), "[s EXCEPT !.a = 1]", None),
        (If(conj(TlaText("c"), ROUND), DONE, TlaText("s2")), "s", None),
        (If(disj(ROUND, TlaText("c")), DONE, TlaText("s2")), "s", None),
        (If(TlaText("(34 - i) < Len(s2.in_flight)", True), DONE, TlaText("s2")), "s", None),
        (If(TlaText("(35 - i) < Len(s.in_flight)", True), DONE, TlaText("s2")), "s", None),
        (
            If(TlaText("i < Len(s2.in_flight)", True), DONE, TlaText("s2")),
            "s",
            None,
        ),  # these come last, and it may grow
    ],
)
def test_a_loop_from_the_last_place_begins_where_there_is_one(body: Node, begin: str, over: str | None) -> None:
    assert without_idle_rounds(body, "s2", "i", "0..35", begin) == over


def test_what_nothing_asks_for_is_not_defined() -> None:
    used, unused, by_used = ("a", TlaText("1")), ("b", TlaText("2")), ("f(x)", TlaText("a + x", True))
    assert let([used, unused, by_used], TlaText("f(3)")) == Let((used, by_used), TlaText("f(3)"))
    assert let([used, unused], FALSE) == FALSE
    head = ("RECURSIVE loop(_) loop(left)", TlaText("loop(left)"))
    assert let([head], TlaText("loop({})")) == Let((head,), TlaText("loop({})"))
    assert let([head], TlaText("1")) == TlaText("1")


@pytest.mark.parametrize(
    ("said", "denied"),
    [
        (TlaText("s.role[p] = x", True), "s.role[p] # x"),
        (TlaText("f(a, b[1]) # c", True), "f(a, b[1]) = c"),
        (TlaText("p \\in s.Q[l]", True), "p \\notin s.Q[l]"),
        (TlaText("~done(s)"), "done(s)"),
        (TlaText("a = b /\\ c", True), "~(a = b /\\ c)"),
        (TlaText("IF c THEN x ELSE y = z", True), "~(IF c THEN x ELSE y = z)"),
        (TlaText("\\E k \\in S : f(k) = x", True), "~(\\E k \\in S : f(k) = x)"),
        (TlaText("Cardinality({k \\in S : g(k) = x}) = 2", True), "~(Cardinality({k \\in S : g(k) = x}) = 2)"),
        (TlaText("f(x = y)"), "~f(x = y)"),
    ],
)
def test_the_contrary_of_a_comparison_is_another_comparison(said: TlaText, denied: str) -> None:
    assert flat(neg(said)).text == denied


def test_a_definition_is_one_line_where_it_fits() -> None:
    part = TlaText("some_function(state, process) = 1", True)
    assert definition("f(s)", disj(part, TlaText("c"))) == "f(s) == (some_function(state, process) = 1) \\/ c"
    long = definition("f(s)", disj(*(TlaText(f"{part.text}{k}", True) for k in range(9))))
    assert long.splitlines()[:2] == ["f(s) ==", f"  \\/ {part.text}0"]
    assert max(map(len, long.splitlines())) < WIDTH
    named = definition("f(s)", Let((("a", TlaText("1")),), TlaText("a + a", True)))
    assert named == "f(s) ==\n  LET a == 1\n  IN  a + a", "and what it names has a line of its own"


def test_a_name_without_a_letter_gets_one() -> None:
    """TLA+ has no name `_`, which a loop that counts may have."""
    assert Fresh(set()).name("_") == "unused"
    assert "RemoveAt" in module(protocol="ladis", nodes=2, txns=1).text
    assert "(s2, _)" not in module(protocol="ladis", nodes=2, txns=1).text


def test_what_a_call_may_have_said_is_not_known() -> None:
    """Of all that it may have said, whether or not all of it was known."""
    env = Env({}, {}, {"accepts": 1, "choices": 2})
    assert env.forgetting({"accepts", "event"}).aside == {"choices": 2}
    assert env.forgetting({"event"}).aside == env.forgetting(()).aside == env.aside


def test_a_changed_rule_changes_its_operator_and_nothing_else() -> None:
    def operators(text: str) -> dict[str, str]:
        return {part.partition("(")[0].split("\n")[-1]: part for part in text.split("\n\n")}

    usual, changed = operators(module(**TINY).text), operators(module(**TINY, variant="small-quorum").text)
    differ = {name for name in usual.keys() | changed.keys() if usual.get(name) != changed.get(name)}
    assert "quorum" in differ
    assert "l_2_2" not in differ


def test_where_there_is_a_view_renamings_are_not_merged() -> None:
    """TLC takes the least renaming of a state before it forgets the order of a bag: orbits would be counted apart."""
    paxos = module(protocol=str(EXAMPLES / "paxos.py"), nodes=3, txns=1)
    assert "VIEW View" in paxos.configured(symmetry=True)
    assert "Symmetry" not in paxos.configured(symmetry=True) + paxos.text


CIRCLE = (
    """
from typing import Annotated

from zabcheck.language import Each, Fields, Range, Node, action, declare, safety, stored


class State(Fields):
    level: Each[Node, Annotated[int, Range(0, 2)]] = stored("a level")


def may_begin(s: State, p: Node) -> bool:
    return (p + 1) % s.NODES == p

@action(when=may_begin, budget="begins")
def begin(s: State, p: Node) -> None:
    s.level[p] = 1

"""
    + some("begun", "s.level[p] > 0", "Somebody has begun.")
    + never("low", "s.level[p] > 1", "No level is above 1.", "begun")
    + """PROTOCOL = declare(__name__, budgets={"begins": 2})
"""
)


@pytest.mark.slow(seconds=1)
def test_a_single_process_that_is_calculated_with_is_a_number(tmp_path: Path) -> None:
    """One process has no renaming, and is no model value on that account: TLC adds nothing to those."""
    path = tmp_path / "circle.py"
    path.write_text(CIRCLE)
    alone = module(protocol=str(path), nodes=1)
    assert "((p + 1) % 1) = p" in alone.text
    assert "CONSTANT p0 = 0" in alone.configuration
    assert "CONSTANT p0 = p0" in module(**{**TINY, "nodes": 1}).configuration


@needs_tlc
@pytest.mark.slow(seconds=2)
def test_tlc_explores_a_single_process_that_is_calculated_with(tmp_path: Path) -> None:
    path = tmp_path / "circle.py"
    path.write_text(CIRCLE)
    same({"protocol": str(path), "nodes": 1})


def test_what_is_in_flight_is_gone_through_as_far_as_there_is_something() -> None:
    """TLC asks for the view of every state that it makes, and each round of a loop costs it a dozen evaluations."""
    text = module(protocol=str(EXAMPLES / "paxos.py"), nodes=3, txns=1).text
    assert "IN  IF Cardinality(S) = Len(q) THEN S ELSE [m \\in S |-> Cardinality(" in text
    assert "Through(each, s, Max(0, 36 - Len(s.in_flight)), 35)" in text


def test_disks_are_refused(tmp_path: Path) -> None:
    model = Model(Configuration(**TINY))  # type: ignore[arg-type]

    class Failing(Model):
        fails = True  # type: ignore[assignment]

    with pytest.raises(Untranslatable, match="disks are not exported"):
        module_of(Failing(model.configuration), (), "Model")


@pytest.mark.slow(seconds=1)
def test_the_command_writes_a_module_and_its_configuration(tmp_path: Path) -> None:
    file = tmp_path / "Zab.tla"
    asked = ["export", "--model", "--to", "tla", "--nodes", "2", "--txns", "1", "--output", str(file)]
    assert CliRunner().invoke(main, asked).exit_code == 0
    assert file.read_text().splitlines()[0].strip("- ") == "MODULE Zab"
    assert "SYMMETRY Symmetry" in (tmp_path / "Zab.cfg").read_text()
    assert CliRunner().invoke(main, [*asked, "--no-symmetry"]).exit_code == 0
    assert "SYMMETRY" not in (tmp_path / "Zab.cfg").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "--to", "mermaid"], "a model is exported --to tla"),
        (["--model", "--to", "tla", "--output", "a-b.tla"], "NAME is the module's"),
        (["--model", "--to", "tla", "--output", "Zab.txt"], "a file NAME.tla"),
        (["--model", "--to", "tla", "--output", "/nowhere/Zab.tla"], "--output"),
        (["--model", "--to", "tla", "--nodes", "9"], "--nodes must be 1 to 7"),
        (["--model", "--to", "tla", "--variant", "none"], "there is no variant 'none'"),
        (["--to", "tla", "run.trace.json"], "a whole model"),
        (["--to", "text", "--nodes", "2", "run.trace.json"], "--nodes is for --model"),
        (["--to", "text"], "name the trace to export"),
    ],
)
def test_a_wrong_question_is_refused_in_a_sentence(words: list[str], said: str) -> None:
    ran = CliRunner().invoke(main, ["export", *words])
    assert ran.exit_code == 2
    assert said in ran.output


def test_what_tlc_prints_is_read() -> None:
    progress = "1,105,207 states generated (104,636 s/min), 37,055 distinct states found (36,809 ds/min), 6,108 left"
    end = "2,780,931 states generated, 270,489 distinct states found, 0 states left on queue."
    deep = "The depth of the complete state graph search is 51."
    assert parsed(f"{progress}\n{end}\n{deep}") == Counts(270489, 2780931, 51, "", 0, 0.0, True)
    assert parsed(progress) == Counts(37055, 1105207, 0, "", 0, 0.0, False), "stopped before its end"
    broken = f"Error: Invariant Durability is violated.\nState 1: <Initial>\nState 2: <Next line>\n{end}"
    assert (parsed(broken).violated, parsed(broken).depth, parsed(broken).ended) == ("Durability", 1, True)
    with pytest.raises(TlcFailed, match="TLC failed: Error: The first argument of Assert"):
        parsed(f"Error: The first argument of Assert evaluated to FALSE\n{end}\n{deep}")
    with pytest.raises(TlcFailed, match="Could not"):
        parsed("TLC2\nError: Could not find the module\nFinished in 00s\n")


class Java:
    """TLC, for as long as it is let: each run takes 3 seconds of a CPU, after 20 that others took."""

    def __init__(self, said: bytes | None) -> None:
        self.said, self.spent = said, 20.0

    def run(self, *_: Any, timeout: float | None, **__: Any) -> subprocess.CompletedProcess[str]:
        self.spent += 3
        if timeout is not None:
            raise subprocess.TimeoutExpired("java", timeout, self.said)
        return subprocess.CompletedProcess("java", 0, (self.said or b"").decode(), "")

    def getrusage(self, who: int) -> Any:
        assert who == resource.RUSAGE_CHILDREN
        return SimpleNamespace(ru_utime=self.spent * 0.75, ru_stime=self.spent * 0.25)


def test_a_run_of_tlc_has_its_own_cpu_time_and_may_end_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = "40 states generated (1 s/min), 30 distinct states found (1 ds/min), 6 left"
    empty = Module("Empty", "", "", (), False)

    def counted(said: bytes | None, limit: float | None) -> Counts:
        java = Java(said)
        monkeypatch.setattr("benchmarks.tlc.tlc_command", lambda *_: [])
        monkeypatch.setattr(subprocess, "run", java.run)
        monkeypatch.setattr(resource, "getrusage", java.getrusage)
        return run_tlc(JAR, empty, limit=limit)

    done = counted(f"{progress}\nThe depth of the complete state graph search is 4.".encode(), None)
    assert (done.distinct, done.seconds, done.ended) == (30, 3.0, True)
    cut = counted(progress.encode(), 1.0)
    assert (cut.distinct, cut.seconds, cut.ended) == (30, 3.0, False)
    with pytest.raises(TlcFailed, match=r"no counts: nothing$"):
        counted(None, 1.0)
