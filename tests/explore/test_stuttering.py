"""Stuttering receipts: which receipts are, what leaving them out leaves as it is, where they are not left out, and who
says so (docs/explanation/reductions.md)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.checkpoints.checkpoint import Checkpoint, Refused
from checker.explore.checkpoints.kept import Kept
from checker.explore.checkpoints.task import ExplorationTask
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from checker.explore.stuttering import stutters, stutters_text
from checker.proofs.tla.module import module_of
from checker.tables.distributed.cluster import Here
from checker.tables.distributed.code import task_of
from checker.tables.distributed.explore import SparkExplorer
from checker.tables.distributed.storage import Storage
from invariants import properties_of
from invariants.binding import full_namespace
from invariants.registry import TERMINAL
from tests.models import model, python_walked
from zabspec.language import Role, StateView
from zabspec.language.layout.schema import Layout
from zabspec.language.layout.source import LanguageError
from zabspec.language.python import reference
from zabspec.model import Configuration, Model
from zabspec.worlds.steps import RECEIVE

LINES = Path(__file__).parents[1] / "own" / "texts" / "two_lines.py"

TEXT = '''"""A token goes from hand to hand; who is busy lets it fall."""

from __future__ import annotations

from zabcheck.language import *


class TOKEN(MessageType): ...


class State(Fields):
    busy: Each[Node, bool] = volatile("it works")
    holds: Each[Node, bool] = volatile("it has the token")


def on_start(s: State, p: Node) -> None:
    s.holds[p] = p == 0


def may_work(s: State, p: Node) -> bool:
    return not s.busy[p] and not s.holds[p]


@action(when=may_work, budget="works")
def work(s: State, p: Node) -> None:
    s.busy[p] = True


def may_pass(s: State, p: Node) -> bool:
    return s.holds[p]


@action(when=may_pass, budget="passes")
def hand_on(s: State, p: Node) -> None:
    s.holds[p] = False
    send(s, p, (p + 1) % s.NODES, TOKEN())


@receives
def on_token(s: State, p: Node, m: TOKEN) -> None:
    if not s.busy[p]:
        s.holds[p] = True


# who rests


def worked(s: State) -> bool:
    """Somebody is busy."""
    return s.busy[0] or s.busy[1]


@safety(witness=worked)
def token_exists(s: State) -> bool:
    """The token is in somebody's hand, or on its way."""
    return len(s.in_flight) > 0 or s.holds[0] or s.holds[1]


def stepped(before: State, event: State, after: State) -> bool:
    """There is a step."""
    return True


@safety(over="step", witness=stepped)
def taken_in(before: State, event: State, after: State) -> bool:
    """Whatever happens, who works or who holds the token is another afterwards."""
    for p in range(after.NODES):
        if before.busy[p] != after.busy[p] or before.holds[p] != after.holds[p]:
            return True
    return False


@safety(witness=worked)
def from_the_first(s: State, m: TOKEN) -> bool:
    """The first sends every token."""
    return m.source == 0


PROTOCOL = declare(
    __name__, budgets={"works": 1, "passes": 1}, nodes=2
)
'''


RESTS = """def may_rest(s: State) -> bool:
    return len(s.in_flight) == 0


@environment_step(when=may_rest)
def rest(s: State) -> None:
    s.quiet = True"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "tokens.py").write_text(TEXT)
    return tmp_path / "tokens.py"


def explored_alike(path: Path, name: str, **asked: Any) -> Exploration:
    """One property of the text, explored by both engines, which agree."""
    own = Model(Configuration(protocol=str(path), **asked))
    judged = [p for p in properties_of(str(path)) if p.name == name]
    fast = Explorer(Compiled(own, judged, False), 1).run(Limits(), False)
    slow = Interpreter(own, judged, False).run(Limits(), False)
    for what in ("levels", "distinct", "generated", "terminal", "depth", "complete"):
        assert getattr(fast, what) == getattr(slow, what), what
    return fast


@pytest.mark.parametrize("network", ["datagrams", "ordered", "fifo"])
def test_who_looks_at_the_mail_sees_that_a_message_is_gone(path: Path, network: str) -> None:
    found = explored_alike(path, "token-exists", network=network)
    assert len(found.violations["token-exists"].schedule) == 3


def test_a_property_of_steps_is_asked_of_such_a_receipt_too(path: Path) -> None:
    assert len(explored_alike(path, "taken-in").violations["taken-in"].schedule) == 3


def test_of_every_message_is_said_of_fewer_where_one_is_gone(path: Path) -> None:
    """So they are left out, and a state from which nothing else is possible is an end."""
    few = explored_alike(path, "from-the-first")
    whole = explored_alike(path, "token-exists", network="fifo")
    assert few.complete
    assert not few.stuttering_off
    assert not few.violations
    assert few.distinct < whole.distinct
    assert few.terminal == 2


def test_the_environment_sees_no_mail(path: Path) -> None:
    path.write_text(
        TEXT.replace("# who rests", RESTS).replace(
            '"it has the token")', '"it has the token")\n    quiet: bool = environment("it rests")'
        )
    )
    with pytest.raises(LanguageError, match=r"tokens.py:\d+: the environment may not read network field in_flight"):
        explored_alike(path, "token-exists")


def test_what_a_property_is_called_says_nothing_of_what_it_reads(tmp_path: Path) -> None:
    """Not even where it is called as what asks a claim of every message."""
    text = TEXT.replace("token_exists", "one_token_of_every_message")
    path = tmp_path / "named.py"
    path.write_text(text, encoding="utf-8")
    c = Configuration(str(path))
    judged = [p for p in properties_of(str(path)) if p.name == "one-token-of-every-message"]
    assert len(judged) == 1
    found = Explorer(Compiled(Model(c), judged, False), 1).run(Limits(None, None, None, None), True)
    assert {name: v.depth for name, v in found.violations.items()} == {"one-token-of-every-message": 3}


# --- where they are not left out -------------------------------------------------------------------


def test_nobody_but_a_property_may_look_at_the_mail(path: Path) -> None:
    """No handler, no condition of an action: so every step is possible with one message more, and does the same."""
    text = path.read_text()
    for old, new, said in (
        ("    return not s.busy[p] and not s.holds[p]", "    return len(s.in_flight) == 0", "network field in_flight"),
        ("    if not s.busy[p]:", "    if len(s.in_flight) == 0:", "network field in_flight"),
        ("    if not s.busy[p]:", "    if m.ahead == 0:", "ahead, which is on the envelope"),
    ):
        path.write_text(text.replace(old, new))
        with pytest.raises(LanguageError, match=rf"tokens.py:\d+: a handler may not read {said}"):
            explored_alike(path, "token-exists", network="ordered")


def test_what_is_ahead_of_a_message_is_another_when_that_is_gone() -> None:
    """A claim of each message may say so; then each receipt is a step."""
    few = interpreted(lines("passes"), False, None, "nothing-ahead")
    assert few.stuttering_off == "nothing-ahead reads what is in flight"
    assert {name: v.depth for name, v in few.violations.items()} == {"nothing-ahead": 2}
    assert not interpreted(lines("passes"), False, None, "nobody-is-answered").stuttering_off


def test_terminal_states_are_those_where_no_step_is_possible() -> None:
    """A message that is left in flight may do something later, and may have been ignored before."""
    judging = tuple(
        replace(p, of=TERMINAL) for p in properties_of(str(LINES)) if p.name in ("nobody-is-answered", "not-thrice")
    )
    for engine in (Interpreter, Compiled):
        made: Any = engine(model(lines("equal")), judging, False)
        assert made.stuttering_off == "nobody-is-answered is about terminal states"
    few, whole = (
        Interpreter(model(lines("equal")), judging, False, every).run(Limits(), True) for every in (False, True)
    )
    assert verdicts(few) == verdicts(whole)
    assert verdicts(few)["nobody-is-answered"][0] == "violated"


def test_over_connections_there_are_none() -> None:
    off = Interpreter(model(Configuration(nodes=1, txns=1)), (), False, True).stuttering_off
    assert off == "there are none over connections, network fifo"


# --- which receipts stutter ------------------------------------------------------------------------


def lines(variant: str = "", network: str = "ordered", **asked: Any) -> Configuration:
    return Configuration(str(LINES), variant, network=network, **asked)


def verdicts(r: Exploration) -> dict[str, tuple[str, int | None, int | None]]:
    """Of each property its verdict, the depth of its premise, and that of its shortest violation."""
    found = {name: v.depth for name, v in r.violations.items()}
    return {p.name: (r.verdict(p), r.witnessed.get(p.name), found.get(p.name)) for p in r.properties}


def interpreted(c: Configuration, every_step: bool = False, depth: int | None = None, *names: str) -> Exploration:
    """Without the claim that reads what is ahead of a message, if none is named."""
    judging = [p for p in properties_of(c.protocol) if (p.name in names if names else p.name != "nothing-ahead")]
    r = Interpreter(model(c), judging, False, every_step).run(Limits(depth), keep_going=True)
    assert not r.error
    return r


# What breaks, at which depth, in a run that needs a receipt which is not nothing.
BROKEN = {
    **dict.fromkeys(("", "equal", "itself", "again", "chooses"), ("nobody-is-answered", 3)),
    "ghost": ("nothing-seen", 2),
    "disk": ("nothing-stored", 2),
}


@pytest.mark.parametrize("network", ["ordered", "datagrams"])
@pytest.mark.parametrize("variant", [*BROKEN, "passes", "back"])
def test_a_receipt_that_does_something_is_a_step(variant: str, network: str) -> None:
    """Verdicts, premises and the shortest runs are those of a search of every step."""
    few, whole = interpreted(lines(variant, network)), interpreted(lines(variant, network), every_step=True)
    assert (few.complete, whole.complete, few.stuttering_off) == (True, True, "")
    assert whole.stuttering_off == "--reduction none"
    assert verdicts(few) == verdicts(whole)
    assert few.step_counts.keys() == whole.step_counts.keys()
    assert {name: v.depth for name, v in few.violations.items()} == dict([BROKEN[variant]] if variant in BROKEN else [])
    assert few.distinct <= whole.distinct


@pytest.mark.parametrize(
    "asked",
    [
        {"duplicates": 1},
        {"drops": 1},
        {"variant": "disk", "crashes": 1, "power_losses": 1},
        {"variant": "equal", "crashes": 1},
    ],
    ids=str,
)
def test_so_it_is_with_faults(asked: dict[str, Any]) -> None:
    few, whole = (interpreted(lines(**asked), every) for every in (False, True))
    assert verdicts(few) == verdicts(whole)
    assert few.violations
    assert few.distinct < whole.distinct


class Recorder:
    """Takes steps in the CPython world, and records what they do: it counts calls of `send`, and looks for each message
    that was in flight."""

    def __init__(self, c: Configuration) -> None:
        own = model(c)
        program = own.program
        self.layout = program.layout
        self.names = reference.load(self.layout, full_namespace(own), program.types, program.steps)
        self.send, self.names["send"] = self.names["send"], self.sending
        self.sent = 0

    def sending(self, *args: Any) -> None:
        self.sent += 1
        self.send(*args)

    def steps(self, data: bytes) -> Iterator[tuple[StateView, bool]]:
        """Every state after a step out of one, and whether that took one message out and did nothing else."""
        out: dict[int, int] = {}
        self.names["enabled"](StateView(self.layout, data), out)
        for k in range(1, out[0] + 1):
            choice, choices = 0, 1
            while choice < choices:
                after, self.sent = StateView(self.layout, data), 0
                self.names["apply"](after, out[k] | choice << 32)
                yield after, self.did_nothing(StateView(self.layout, data), out[k], after)
                choices, choice = max(choices, after.choices), choice + 1

    def did_nothing(self, before: StateView, word: int, after: StateView) -> bool:
        if word >> 24 & 255 != RECEIVE:
            return False
        others = Counter(self.bare(m) for k, m in enumerate(before.in_flight) if k != word & 255)
        lost = others - Counter(self.bare(m) for m in after.in_flight)
        return not (self.sent or lost or after.accepts) and self.rest(before) == self.rest(after)

    @staticmethod
    def bare(m: Any) -> bytes:
        """A message without its place in line."""
        raw = bytearray(m.raw())
        at = m.union.envelope_offsets["ahead"]
        raw[at : at + m.union.envelope["ahead"].size] = bytes(m.union.envelope["ahead"].size)
        return bytes(raw)

    def rest(self, s: StateView) -> dict[str, list[bytes]]:
        """The value of each field, but of those that the network has."""
        return {
            f.name: [s.key()[at : at + f.kind.size] for _, at in self.layout.elements(f.name)]
            for f in self.layout.schema.fields
            if f.role not in (Role.NETWORK, Role.SCRATCH)
        }


def both_say(layout: Layout) -> Callable[[StateView, StateView], set[bool]]:
    """What the interpreter's definition says of a step, and the one that is compiled, run as Python."""
    words = {"State": StateView, "as_bytes": StateView.key}
    words["load_word"] = lambda data, at: int.from_bytes(data[at : at + 8], "little")
    exec(stutters_text(layout), words)
    return lambda before, after: {stutters(layout, before, after), words["stutters"](before, after)}


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(
    ("variant", "network"),
    [*((name, "ordered") for name in ("", "equal", "itself", "again", "ghost", "disk", "chooses", "back")),
     ("equal", "datagrams")],
)  # fmt: skip
def test_a_receipt_stutters_if_it_did_nothing(variant: str, network: str) -> None:
    """What is derived from two states and the step between them is what the step was seen to do."""
    c = lines(variant, network, duplicates=1, crashes=1)
    engine = Interpreter(model(c), (), False, every_step=True)
    engine.run(Limits(depth=6))
    recorder, said = Recorder(c), Counter[bool]()
    stutter = both_say(recorder.layout)
    for data in engine.seen:
        for after, did_nothing in recorder.steps(data):
            assert stutter(StateView(recorder.layout, data), after) == {did_nothing}
            said[did_nothing] += 1
    assert min(said[True], said[False]) > 0


def accepted(s: StateView) -> None:
    s.accepts = 1


def did_not_receive(s: StateView) -> None:
    s.event = RECEIVE - 1


def overtook(s: StateView) -> None:
    s.event_message.ahead = 1


@pytest.mark.parametrize("observed", [accepted, did_not_receive, overtook])
def test_what_a_step_observes_belongs_to_what_it_did(observed: Callable[[StateView], None]) -> None:
    """The states before and after a receipt do not show all that it did: its annotations show the rest."""
    engine = Interpreter(model(lines()), (), False, every_step=True)
    engine.run(Limits(depth=3))
    recorder, stuttering = Recorder(lines()), 0
    stutter = both_say(recorder.layout)
    for data in engine.seen:
        for after, did_nothing in recorder.steps(data):
            if did_nothing:
                observed(after)
                assert stutter(StateView(recorder.layout, data), after) == {False}
                stuttering += 1
    assert stuttering > 0


def test_so_it_is_of_the_lab_s_protocol() -> None:
    c = Configuration(protocol="db19", nodes=2, txns=1, timeouts=2, crashes=1, heartbeats=1, network="ordered")
    recorder, said = Recorder(c), Counter[bool]()
    for data in python_walked(c, 200):
        for after, did_nothing in recorder.steps(data):
            assert stutters(recorder.layout, StateView(recorder.layout, data), after) == did_nothing
            said[did_nothing] += 1
    assert min(said.values()) > 10


# --- who says so -----------------------------------------------------------------------------------


def asked(*words: str) -> Result:
    return CliRunner().invoke(main, ["--protocol", str(LINES), "--network", "ordered", "--no-trace", *words])


def engine_of(*words: str) -> tuple[int, int, bool, str | None]:
    """The exit code, how many states there are, and what the report says of stuttering receipts."""
    ran = asked("--keep-going", "--json", *words)
    report = json.loads(ran.stdout)
    engine = report["engine"]
    return ran.exit_code, report["states"]["distinct"], engine["stuttering_left_out"], engine["stuttering_off"]


CALM = ("--variant", "passes", "--property", "nobody-is-answered")


@pytest.mark.slow(seconds=1)
def test_the_command_leaves_them_out_unless_it_is_told_not_to() -> None:
    """And each answer is its own, whichever was compiled before."""
    for engine in ("compiled", "interpret", "compiled"):
        assert engine_of(*CALM, "--engine", engine) == (0, 5, True, None)
        assert engine_of(*CALM, "--engine", engine, "--reduction", "none") == (0, 7, False, "--reduction none")
    assert engine_of(*CALM, "--reduction", "stuttering") == (0, 5, True, None)
    assert engine_of("--variant", "passes", "--property", "nothing-ahead")[2:] == (
        False, "nothing-ahead reads what is in flight",
    )  # fmt: skip


def test_the_text_says_so() -> None:
    """With what terminal states are then."""
    assert "stuttering receipts    left out, with the states that only they lead to" in asked(*CALM).stdout
    assert "(only stuttering receipts are possible)" in asked(*CALM).stdout
    every = asked(*CALM, "--reduction", "none").stdout
    assert "stuttering receipts    steps like others: --reduction none" in every
    assert "(no step is possible)" in every


def test_a_step_that_is_only_entered_by_them_is_taken() -> None:
    """What they enter is counted: nothing is said to be never taken that is."""
    text = LINES.read_text()
    assert "def passes" in text
    few, whole = (interpreted(lines("passes"), every) for every in (False, True))
    assert few.event_counts[RECEIVE] > 0
    assert {k for k, n in few.step_counts.items() if n} == {k for k, n in whole.step_counts.items() if n}


def test_a_module_has_every_step() -> None:
    judging = [p for p in properties_of(str(LINES)) if p.name == "nobody-is-answered"]
    text = module_of(model(lines("passes")), judging, "Lines").text
    assert "Idle" not in text
    assert "state' = " in text


# --- checkpoints, and tasks of a cluster ---------------------------------------------------------


@cache
def code(every_step: bool) -> Compiled:
    judging = [p for p in properties_of(str(LINES)) if p.name == "nobody-is-answered"]
    return Compiled(model(lines("passes")), judging, False, every_step)


@pytest.mark.parametrize("every_step", [False, True])
def test_a_checkpoint_is_of_one_way(tmp_path: Path, every_step: bool) -> None:
    def run(every: bool, resume: bool) -> int:
        with Kept(tmp_path, code(every), Limits(2 if not resume else None), resume) as keeper:
            return Explorer(code(every), 1).run(Limits(2 if not resume else None), keeper=keeper).distinct

    run(every_step, False)
    was = "taken" if every_step else "left out"
    with pytest.raises(Refused, match=f"is of another request: stuttering receipts are {was}"):
        run(not every_step, True)
    assert run(every_step, True) == (7 if every_step else 5)


@pytest.mark.slow(seconds=4)
def test_tasks_of_a_cluster_take_the_same_steps(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    task, _ = task_of(lines("passes"), code(False).properties, False, False, 2, False)
    assert ExplorationTask.from_json(task.as_json()) == task
    explorer = SparkExplorer(task, Checkpoint(Storage(str(tmp_path / "levels"))))
    explorer.checkpoint.storage.create()
    found = explorer.run(Here(), Limits(), True)
    here = Explorer(code(False), 1).run(Limits(), True)
    assert (found.levels, found.terminal, found.stuttering_off) == (here.levels, here.terminal, here.stuttering_off)
