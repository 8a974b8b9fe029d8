"""Replay: random runs and counterexamples go through the simulator step by step equal; a simulator that breaks a rule
of its own, and a trace that was altered by hand, are found out with the step and the field. Every variant's
counterexamples replay in `test_variants.py`, where they are found, and those of the lab in `test_db19.py`."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.result import Exploration, Limits
from invariants import PROPERTIES, property_named
from tests.models import CONFIGURATIONS, compiled
from tests.protocols.explored import SHOWN, explored
from traces import Runner, Step, Trace, TraceError, build_trace, state_json, write_trace
from traces.record.file import trace_of
from traces.record.trace import StepWord
from traces.record.values import carried
from traces.replay.abstraction import fitted
from traces.replay.replay import Judge, replay
from traces.replay.scripted import ScriptedSimulator
from zabspec.language.layout.derive import in_order
from zabspec.language.python.lang import Node, State
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.protocols.zab_variants import VARIANTS
from zabspec.simulator import connections, datagrams, loop, mail
from zabspec.simulator.connections import open_as
from zabspec.simulator.mail import release, slot_of, take_out
from zabspec.worlds.actor import ELECTION_TIMER, HEARTBEAT_TIMER, choose, on_crash, on_timer, timer_armed
from zabspec.worlds.steps import KINDS, NUMBERED

FAULTY = Configuration(timeouts=1, crashes=1, losses=1, partitions=1)
LAB = Configuration(protocol="db19", timeouts=3, crashes=1, heartbeats=2)
REPEATING = Configuration(timeouts=1, crashes=0, losses=0, network="duplicating", duplicates=2)
DROPPING = Configuration(timeouts=1, crashes=1, losses=0, network="lossy", drops=2)
WORLDS = {
    "fifo": FAULTY,
    "lossy": DROPPING,
    "unordered": Configuration(timeouts=1, crashes=1, losses=1, network="unordered"),
    "duplicating": REPEATING,
    "stale": Configuration(timeouts=2, crashes=1, losses=1, network="stale"),
    "datagrams": LAB,
    "ordered": Configuration(
        protocol="db19", timeouts=2, crashes=1, heartbeats=1, network="ordered", drops=1, duplicates=1
    ),
    "in order": Configuration(
        protocol="db19", timeouts=2, crashes=1, heartbeats=1, network="fifo", drops=1, duplicates=1
    ),
    "one": Configuration(nodes=1, timeouts=1, crashes=1, losses=0),
    "two": Configuration(nodes=2, txns=3, timeouts=2, crashes=2, losses=2, partitions=2),
    "four": Configuration(nodes=4, txns=1, timeouts=1, crashes=1, losses=1, partitions=1),
    "inside": Configuration(variant="history-then-epoch", timeouts=1, crashes=2, losses=0),
    "literal": Configuration(variant="commit-named-only", timeouts=2, crashes=0, losses=1, literal=True),
}
# Steps that a random run takes now and then only.
RARE = {
    "crash", "timeout", "lose_connection", "partition", "drop_to_leader", "drop_to_follower", "repeat_to_leader",
    "repeat_to_follower", "drop", "repeat",
}  # fmt: skip
TOSSED = "tossed-epochs"  # a variant of these tests that chooses


def walked(c: Configuration, chance: random.Random, length: int = 45) -> Trace:
    """A run of the explorer's world taken at random, with its choices; faults are rare in it."""
    runner = Runner(Model(c))
    initial = state_json(runner.state)
    steps: list[Step] = []
    while len(steps) < length and (possible := runner.possible()):
        kinds = {word: NUMBERED[word >> 24].name for word in possible}
        inside = [word for word, kind in kinds.items() if kind == "crash_in_receipt"]
        usual = [word for word, kind in kinds.items() if kind not in RARE]
        word = chance.choice(inside or (usual if usual and chance.random() < 0.85 else possible))
        if c.variant == TOSSED or c.network == "stale":
            trial = runner.state.copy()
            runner.model.program.python["apply"](trial, word)  # not listened to
            word |= chance.randrange(max(1, trial.choices)) << 32
        steps.append(runner.step(word))
    return Trace(c, "", "", "", initial, tuple(steps), "")


@cache
def plain(c: Configuration, seed: int) -> Trace:
    return walked(c, random.Random(seed))


def counterexample(model: Model, found: Exploration, name: str) -> Trace:
    hit = found.violations[name]
    return build_trace(model, hit.property, hit.schedule)


@cache
def broken() -> Trace:
    """A counterexample of zab, with its protocol's rule changed."""
    v = SHOWN["small-quorum"]
    return counterexample(Model(v.configuration), explored(v.configuration), next(iter(v.breaks)))


# --- every counterexample ------------------------------------------------------------------------


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", WORLDS)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_random_runs_of_every_world_replay(name: str, seed: int) -> None:
    trace = walked(WORLDS[name], random.Random(seed))
    assert replay(trace).steps == trace.steps


@pytest.mark.slow(seconds=2)
def test_random_runs_have_every_kind_of_step() -> None:
    kinds = {step.word.kind for c in WORLDS.values() for seed in range(4) for step in plain(c, seed).steps}
    # steps of texts of one's own, disks and elections among them, have tests of their own
    own = {k.name for k in KINDS.values() if {"which", "kept", "quorum"} & set(k.operands)}
    own |= {"join", "follower_loses", "leader_loses", "outage"}
    assert kinds == set(KINDS) - own


@pytest.mark.parametrize("name", ["duplicating", "datagrams", "inside"])
def test_a_step_of_the_simulator_is_judged_as_the_explorers(name: str) -> None:
    """All that a property of steps may read: the states before and after it, and what the step says of itself."""
    trace = plain(WORLDS[name], 3)
    scripted, judged, runner = ScriptedSimulator(trace.model), Judge(trace.model), Runner(trace.model)
    judged.see(scripted, None)
    layout, messages = trace.model.program.layout, 0
    assert judged.after.key() == runner.state.key()
    for step in trace.steps:
        before = runner.state.key()
        runner.step(step.word.word)
        judged.see(scripted, scripted.step(step.word))
        theirs, ours = runner.state, judged.after
        for one, other in ((judged.before.key(), before), (ours.key(), theirs.key())):
            assert in_order(layout, one) == in_order(layout, other)
        assert (ours.event, ours.event_process, ours.accepts) == (theirs.event, theirs.event_process, theirs.accepts)
        assert ours.accepts == 0 or ours.accept_epoch == theirs.accept_epoch
        if step.message is not None:
            assert ours.event_peer == theirs.event_peer
            assert ours.event_message.name == theirs.event_message.name
            assert carried(ours.event_message) == carried(theirs.event_message)
            messages += 1
    assert messages > 5


@cache
def of_steps() -> Trace:
    """A counterexample of a property of steps."""
    c = CONFIGURATIONS[7]
    p = property_named("invariant-2", PROPERTIES)
    found = Explorer(compiled(c, False, (p,)), 1).run(Limits())
    return build_trace(Model(c), p, found.violations[p.name].schedule)


def test_a_counterexample_of_a_property_of_steps_replays() -> None:
    assert replay(of_steps()).property_name == "invariant-2"
    with pytest.raises(TraceError, match="invariant-2"):
        replay(dataclasses.replace(of_steps(), steps=of_steps().steps[:-1]))


def epoch_to_propose(s: State, l: Node) -> int:
    """An epoch that is later by one or by two."""
    return s.new_epoch[l] + 1 + choose(s, 2)


def first_alternative(s: State, alternatives: int) -> int:
    """The script does not choose."""
    s.choices = alternatives
    return 0


def test_the_script_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    override = FunctionType(epoch_to_propose.__code__, {}, "epoch_to_propose")
    tossed = dataclasses.replace(VARIANTS["small-quorum"], name=TOSSED, overrides={"epoch_to_propose": override})
    monkeypatch.setitem(PROTOCOLS["zab"].variants, TOSSED, tossed)  # type: ignore[arg-type]
    c = Configuration(variant=TOSSED, timeouts=1, crashes=0, losses=0, max_epoch=8)
    runs = [walked(c, random.Random(seed)) for seed in range(4)]
    for trace in runs:
        assert replay(trace).steps == trace.steps
    trace = next(t for t in runs if any(step.word.choice for step in t.steps))
    break_rule(monkeypatch, loop, "choose", first_alternative)
    k = next(k for k, step in enumerate(trace.steps) if step.word.choice)
    with pytest.raises(TraceError, match=rf"^step {k + 1}, (sent\[0\]\.fields\.epoch|state\.new_epoch)"):
        replay(trace)


def break_rule(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, mutant: Callable[..., Any]) -> None:
    """Put a function in the place of the simulator's own, bound to what the program has by its names."""
    own = FunctionType(mutant.__code__, {}, name)
    own.__module__ = module.__name__
    monkeypatch.setattr(module, name, own)


# --- a simulator that breaks a rule ----------------------------------------------------------------


def is_open(s: State, f: Node, l: Node) -> bool:
    """A connection that is cut carries what is sent."""
    return s.follower_end[f][l] and s.leader_end[f][l]


def in_turn(s: State, number: int, taken: int) -> bool:
    """Every other message is taken."""
    return number == taken + 1 and number % 2 == 1


def connect(s: State, f: Node, l: Node) -> None:
    """Connections are not counted."""
    open_as(s, f, l, 1)


def link_cut(s: State, a: Node, b: Node) -> None:
    """A cut loses no connection."""


def lose_mail(s: State, place: int) -> None:
    """The wrong message is lost."""
    release(s, slot_of(take_out(s, 0)))


def crash_twice(s: State, p: Node) -> None:
    """A process that crashes crashes once more."""
    on_crash(s, p)
    on_crash(s, p)


def addressed_back(s: State, slot: int, p: Node, q: Node) -> None:
    """Who sent a datagram, and to whom, are exchanged."""
    s.sim_flight[slot].source = q
    s.sim_flight[slot].target = p


def fire_timers(s: State, p: Node) -> None:
    """A heartbeat fires at whoever has an election timer."""
    if timer_armed(s, p, ELECTION_TIMER) and s.sim_moment >= s.sim_heartbeat_due[p]:
        on_timer(s, p, HEARTBEAT_TIMER)


# What is broken, where, in which world it shows, and what replay says.
MUTANTS: list[tuple[str, ModuleType, str, FunctionType, str, str]] = [
    ("lost at once", connections, "is_open", is_open, "fifo", r"sent\[\d\]\.(connection|number|lost): the trace says"),
    ("link order", connections, "in_turn", in_turn, "fifo", r"word: to_\w+\(.*\) is not taken .*not in turn"),
    ("incarnation", connections, "connect", connect, "fifo", r"\.connection: the trace says \d+, .* gives 1$"),
    ("cutting", connections, "link_cut", link_cut, "fifo", r"word: partition\(.*\) is not taken .*no open connection"),
    ("drops", mail, "lose_mail", lose_mail, "lossy", r"state\.to_(leader|follower)\["),
    ("crash twice", loop, "crash", crash_twice, "fifo", r"ran on_crash\(\d\), on_crash\(\d\), and not on_crash\(\d\)$"),
    (
        "address",
        datagrams,
        "address",
        addressed_back,
        "datagrams",
        r"state\.in_flight\[0\]\.source: the trace says \d, the simulator gives \d$",
    ),
    (
        "timer guard",
        datagrams,
        "fire_timers",
        fire_timers,
        "datagrams",
        r"word: election_timeout\(.*timer is not armed",
    ),
]


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(
    ("module", "name", "mutant", "world", "said"), [m[1:] for m in MUTANTS], ids=[m[0] for m in MUTANTS]
)
def test_a_broken_rule_of_the_simulator_is_named(
    module: ModuleType, name: str, mutant: Callable[..., Any], world: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On some random run, with the step and the field (`test_random_runs_of_every_world_replay`): on one of ten, as
    many as it takes."""
    break_rule(monkeypatch, module, name, mutant)
    found: list[str] = []
    for seed in range(10):
        trace = plain(WORLDS[world], seed)
        try:
            replay(trace)
        except TraceError as error:
            found.append(str(error))
        if found and re.search(said, found[-1]):
            break
    assert found
    assert all(re.match(r"(step \d+|initial state), ?", sentence) for sentence in found), found
    assert any(re.search(said, sentence) for sentence in found), found


def test_a_step_out_of_turn_is_not_taken() -> None:
    """The simulator's own rule of the links says so."""
    for seed in range(10):
        trace = plain(FAULTY, seed)
        for k, step in enumerate(trace.steps):
            before = trace.states[k]
            o = step.word.operands
            if step.word.kind == "to_follower" and len(before["to_follower"][o["follower"]]) > 1:
                word = StepWord("to_follower", {**o, "place": 1})
                scripted = ScriptedSimulator(trace.model)
                for earlier in trace.steps[:k]:
                    scripted.step(earlier.word)
                with pytest.raises(TraceError, match=rf"^step {k + 1}, word: .*place=1\) is not taken .*not in turn"):
                    scripted.step(word)
                return
    raise AssertionError("no walk had two messages in a channel")


def test_a_crash_at_a_point_that_is_not_there_is_not_taken() -> None:
    for seed in range(10):
        trace = plain(WORLDS["inside"], seed)
        for k, step in enumerate(trace.steps):
            if step.word.kind == "crash_in_receipt":
                scripted = ScriptedSimulator(trace.model)
                for earlier in trace.steps[:k]:
                    scripted.step(earlier.word)
                word = StepWord("crash_in_receipt", {**step.word.operands, "point": 2})
                with pytest.raises(TraceError, match=rf"^step {k + 1}, word: .* its handler has no such point"):
                    scripted.step(word)
                return
    raise AssertionError("no walk crashed inside a handler")


# --- a trace altered by hand -------------------------------------------------------------------------


def put(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def edit(content: Any) -> None:
        for key in path[:-1]:
            content = content[key]
        assert content[path[-1]] != value
        content[path[-1]] = value

    return edit


def first(kind: str) -> int:
    """The place of the first step of a kind in `broken`."""
    return next(k for k, step in enumerate(broken().steps) if step.word.kind == kind)


ALTERED: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "state": (put("steps", 5, "state", "promised_epoch", 0, value=0), r"step 6, state\.promised_epoch\[0\]: the trace"),
    "ghost": (
        put("steps", 3, "state", "established", 1, value=1),
        r"step 4, state\.established\[1\]: the trace says 1",
    ),
    "initial": (
        put("initial", "role", 0, value=1),
        r"initial state, role\[0\]: the trace says 1, the simulator gives 0",
    ),
    "budget": (put("configuration", "crashes", value=2), r"accepted must be a list of 4 entries"),
    "sent": (
        lambda c: c["steps"][0]["sent"][0]["fields"].update(epoch=1),
        r"step 1, sent\[0\]\.fields\.epoch: the trace says 1, the simulator gives 0",
    ),
    "message": (
        lambda c: c["steps"][first("to_leader")]["message"]["fields"].update(epoch=1),
        r"step \d+, message\.fields\.epoch: the trace says 1, the simulator gives 0",
    ),
    "number": (
        lambda c: c["steps"][first("to_leader")]["message"].update(number=2),
        r"step \d+, message\.number: the trace says 2, the simulator gives 1",
    ),
    "word": (
        lambda c: c["steps"][first("to_leader")].update(
            word={"kind": "abcast", "process": 0, "choice": 0}, process=0, message=None
        ),
        r"step \d+, word: abcast\(process=0\) is not taken by the simulator: the process may not abcast",
    ),
    "spent": (
        lambda c: c["steps"][2].update(word={"kind": "crash", "process": 0, "choice": 0}),
        r"step 3, word: crash\(process=0\) is not taken by the simulator: the configuration has crashes 0",
    ),
    "world": (
        lambda c: c["steps"][2].update(word={"kind": "receive", "process": 0, "source": 1, "place": 0, "choice": 0}),
        r"step 3, word: receive\(.*\) is not taken by the simulator: zab has no such step",
    ),
    "place": (
        lambda c: c["steps"][first("to_leader")]["word"].update(place=3),
        r"step \d+, word: .*place=3\) is not taken by the simulator: there is no such message",
    ),
    "side": (
        lambda c: c["steps"][0].update(word={"kind": "partition", "side": 1, "choice": 0}),
        r"step 1, word: partition\(side=1\) is not taken by the simulator: the configuration has partitions 0",
    ),
    "choice": (
        lambda c: c["steps"][1]["word"].update(choice=1),
        r"step 2, word: .* takes alternative 1, and the simulator had 1",
    ),
    "nobody": (
        lambda c: c["steps"][0]["word"].update(leader=9),
        r"step 1, word: .* is not taken by the simulator: there is no process 9",
    ),
    "protocol": (put("configuration", "protocol", value="db19"), r"."),
    "variant": (put("configuration", "variant", value=""), r"step \d+, \w+"),
    "property": (
        lambda c: c.update(property="agreement", **claims("agreement")),
        r"step \d+, property: the last step does not violate agreement",
    ),
    "too long": (
        lambda c: c.update(property="one-leader-an-epoch", **claims("one-leader-an-epoch")),
        r"step \d+, property: ",
    ),
}


def claims(name: str) -> dict[str, str]:
    p = next(p for p in PROPERTIES if p.name == name)
    return {"statement": p.statement, "source": p.source}


def altered(edit: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json.dumps(broken().as_dict()))
    edit(content)
    return content


@pytest.mark.parametrize(("edit", "said"), ALTERED.values(), ids=ALTERED)
def test_an_altered_trace_is_refused(edit: Callable[[dict[str, Any]], None], said: str) -> None:
    with pytest.raises(TraceError, match=said) as error:
        replay(trace_of(altered(edit)))
    assert "\n" not in str(error.value)


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("world", ["inside", "ordered"])
def test_whatever_the_words_of_a_trace_say_replay_answers_in_a_sentence(world: str) -> None:
    """A schedule altered at random replays no longer, but for what says the same in other words."""
    chance = random.Random(9)
    trace = plain(WORLDS[world], 2)
    refused = 0
    for _ in range(16):
        content = json.loads(json.dumps(trace.as_dict()))
        word = content["steps"][chance.randrange(12)]["word"]
        name = chance.choice([k for k in word if k != "kind"])
        was, word[name] = word[name], chance.choice((0, 1, 2, 3, 7, 255))
        said = ""
        try:
            replay(trace_of(content))
        except TraceError as error:
            said = str(error)
        assert (word[name] == was) == (said == "")
        assert not said or re.match(r"step \d+, \w+", said)
        refused += said != ""
    assert refused > 8


# --- the command -----------------------------------------------------------------------------------


def command(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def test_the_command_replays_a_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_trace(broken(), path)
    done = command("replay", str(path))
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    count = len(broken().steps)
    numbers = [int(found[1]) for line in lines if (found := re.match(r" *([0-9]+)  p[0-9]:", line))]
    assert numbers == list(range(1, count + 1))
    assert f" {broken().property_name} is violated at step {count} and not before " in " ".join(done.stdout.split())
    assert max(map(len, lines)) <= 80
    assert re.fullmatch("canonical dump at the end: sha256 +[0-9a-f]{64}", "".join(lines[-2:]))
    report = json.loads(command("replay", str(path), "--json").stdout)
    assert report["replayed"] is True
    assert (report["property"], report["breaks_at"]) == (broken().property_name, count)
    assert report["sha256"] == replay(broken()).sha256


def test_the_command_refuses_an_altered_file(tmp_path: Path) -> None:
    path = tmp_path / "altered.json"
    path.write_text(json.dumps(altered(ALTERED["state"][0])))
    done = command("replay", str(path))
    assert done.exit_code == 2
    assert done.stdout == ""
    assert re.search(r"altered\.json does not replay: step 6, state\.promised_epoch\[0\]", done.stderr)


def test_a_simulator_that_is_wrong_is_a_bug_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"
    write_trace(broken(), path)
    break_rule(monkeypatch, connections, "in_turn", in_turn)
    done = command("replay", str(path))
    assert done.exit_code == 3
    assert re.search(r"does not replay in the simulator.*step \d+.*a bug of zabcheck", done.stderr)
    budget = [f"--{k}={v}" for k, v in broken().configuration.as_dict().items() if k in ("txns", "crashes", "timeouts")]
    asked = command("--variant", "small-quorum", *budget, "--losses=0", "--no-trace", "--json")
    report = json.loads(asked.stdout)
    assert asked.exit_code == 3
    assert report["verdict"] == "no verdict"
    hit = next(p["violation"] for p in report["properties"] if p["violation"])
    assert hit["replayed"] is False
    assert "does not replay in the simulator" in hit["problem"]
    assert "a bug of zabcheck" in hit["problem"]


def test_the_report_says_that_it_was_replayed() -> None:
    done = command("--variant", "small-quorum", "--txns=1", "--timeouts=0", "--crashes=0", "--losses=0", "--no-trace")
    assert done.exit_code == 1
    assert "replayed in the simulator, step by step equal" in done.stdout


def test_a_run_without_a_property_replays() -> None:
    result = replay(plain(LAB, 1))
    assert result.property_name == ""
    assert result.sentence == "replayed 45 steps through the simulator, each equal to the recorded one"


# --- a state of the simulator that the explorer's schema has no room for ---------------------------


def test_what_a_larger_cluster_has_no_use_for_is_cut_off() -> None:
    empty = {"kind": 0, "parts": [0, False]}
    used = {"kind": 1, "parts": [0, True]}
    assert fitted("x", [[1, 2, 0], [3, 4, 0], [0, 0, 0]], (2, 2)) == [[1, 2], [3, 4]]
    assert fitted("x", [used, empty, empty], (1,)) == [used]
    assert fitted("x", used, ()) == used


@pytest.mark.parametrize("lost", [3, True, -1, [0, 1], {"kind": 0, "parts": [0, {"deep": 2}]}], ids=str)
def test_what_would_be_lost_of_a_state_is_refused(lost: Any) -> None:
    """A trace that left it out would show another state than the one reached."""
    with pytest.raises(ValueError, match=r"^x has an entry beyond 1$"):
        fitted("x", [0, 0, lost], (2,))
    with pytest.raises(ValueError, match=r"^x has an entry beyond 0$"):
        fitted("x", [[0, lost], [0, 0]], (2, 1))
