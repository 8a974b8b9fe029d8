"""Traces: the file, the replay that verifies it, the sentences, and the other formats."""

from __future__ import annotations

import copy
import dataclasses
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import itf_py
import pytest

from invariants import PROPERTIES, property_named, takeover, tree
from traces import (
    EXPORTS,
    Runner,
    Trace,
    TraceError,
    build_trace,
    read_trace,
    state_json,
    to_itf,
    to_text,
    verify,
    why,
    write_trace,
)
from traces.record.file import trace_of
from traces.record.trace import Step, StepWord
from traces.record.values import state_of
from zabspec.language.python.reference import StateView
from zabspec.language.python.sentences import ExplainedFalse, sentence_of
from zabspec.model import Configuration, Model

FAULTY = Configuration(timeouts=1, crashes=1, losses=1)
LAB = Configuration(protocol="db19", timeouts=3, crashes=1, heartbeats=2)


def walk(configuration: Configuration, seed: int, length: int = 60) -> tuple[int, ...]:
    """A schedule taken at random."""
    runner = Runner(Model(configuration))
    chance = random.Random(seed)
    words: list[int] = []
    while len(words) < length and (possible := runner.possible()):
        words.append(chance.choice(possible))
        runner.step(words[-1])
    return tuple(words)


@cache
def plain(seed: int = 0, configuration: Configuration = FAULTY) -> Trace:
    """A run of the protocol, without a property."""
    return build_trace(Model(configuration), None, walk(configuration, seed))


@cache
def violation(variant: str, name: str, **budget: int) -> Trace:
    """The shortest counterexample of a variant, or of db19."""
    from checker.explore.breadth_first import Explorer
    from checker.explore.compiled import Compiled
    from checker.explore.result import Limits

    if variant == "db19":
        model = Model(Configuration(protocol="db19", timeouts=1, **budget))
    else:
        settings: dict[str, Any] = {"timeouts": 0, "crashes": 0, "losses": 0, **budget}
        model = Model(Configuration(variant=variant, **settings))
    found = Explorer(Compiled(model, [property_named(name, PROPERTIES)], variant != "db19"), 1).run(
        Limits(depth=13 if variant == "db19" else 24)
    )
    hit = found.violations[name]
    return build_trace(model, hit.property, hit.schedule)


def altered(trace: Trace, edit: Any) -> Trace:
    """The trace whose file content an edit changed."""
    content = json.loads(json.dumps(trace.as_dict()))
    edit(content)
    return trace_of(content)


# --- the file ------------------------------------------------------------------------------------


@pytest.mark.parametrize("configuration", [FAULTY, LAB], ids=["zab", "db19"])
@pytest.mark.parametrize("seed", range(3))
def test_a_file_gives_back_the_trace(seed: int, configuration: Configuration, tmp_path: Path) -> None:
    path = tmp_path / "run.trace.json"
    trace = plain(seed, configuration)
    write_trace(trace, path)
    again = read_trace(path)
    assert again == trace
    verify(again)
    assert [p.name for p in tmp_path.iterdir()] == ["run.trace.json"]


@pytest.mark.parametrize("configuration", [FAULTY, LAB], ids=["zab", "db19"])
def test_a_state_comes_back_from_json(configuration: Configuration) -> None:
    """Every byte of it, but for the order of what is in a bag."""
    trace = plain(1, configuration)
    runner = Runner(Model(configuration))
    for word in trace.schedule:
        step = runner.step(word)
        again = state_of(runner.layout, step.state)
        assert state_json(again) == step.state
        if configuration.protocol == "zab":
            assert again.key() == runner.state.key()


def test_an_unwritable_path_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"cannot write .*nowhere"):
        write_trace(plain(), tmp_path / "nowhere" / "run.json")


@pytest.mark.parametrize("cut", [1, 40, 2000, -3])
def test_a_file_cut_short_is_refused(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text(EXPORTS["json"](plain())[:cut])
    with pytest.raises(TraceError, match="is cut short"):
        read_trace(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"hello", "not JSON"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"[]", "format"),
        (b'{"format": "ITF"}', "format"),
        (b'{"format": "zabcheck-trace"}', "version"),
        (b'{"format": "zabcheck-trace", "version": true}', "version"),
        (b'{"format": "zabcheck-trace", "version": 2}', "version 2, and this zabcheck reads 1"),
        (b'{"format": "zabcheck-trace", "version": 1}', "'tool' is missing"),
        (b"[" * 100_000, "nested too deeply|cut short|not JSON"),
    ],
)
def test_another_file_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=message) as error:
        read_trace(path)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        read_trace(tmp_path / "none")


EDITS: list[tuple[str, Any, str]] = [
    ("variant", lambda c: c["configuration"].update(variant="nonesuch"), "no variant 'nonesuch'"),
    ("protocol", lambda c: c["configuration"].update(protocol="pbft"), "no protocol 'pbft'"),
    ("nodes", lambda c: c["configuration"].update(nodes="3"), "configuration, nodes must be a whole number"),
    ("budget", lambda c: c["configuration"].pop("crashes"), "configuration: 'crashes' is missing"),
    ("property", lambda c: c.update(property="liveliness"), "unknown property: 'liveliness'"),
    ("steps", lambda c: c.update(steps={}), "steps must be a list"),
    ("step", lambda c: c["steps"][3].pop("sent"), "step 4: 'sent' is missing"),
    ("word", lambda c: c["steps"][3]["word"].update(kind="jump"), "step 4, word: there is no kind 'jump'"),
    ("operand", lambda c: c["steps"][0]["word"].update(leader=1.5), "step 1, word, leader must be a whole number"),
    ("state", lambda c: c["steps"][2]["state"].pop("history"), "step 3, state: 'history' is missing"),
    ("axis", lambda c: c["steps"][2]["state"]["role"].append(0), "step 3, state, role must be a list of 3 entries"),
    ("range", lambda c: c["initial"]["role"].__setitem__(1, 9), r"initial state, role\[1\] must be 0 to 3"),
    ("set", lambda c: c["initial"]["Q"].__setitem__(0, [2, 1]), r"initial state, Q must list"),
    ("order", lambda c: c["steps"].pop(0), "step 1, number must be 1"),
    (
        "message",
        lambda c: c["steps"][0]["sent"][0].update(kind="HELLO"),
        r"sent\[0\]: there is no kind",
    ),
]
LAB_EDITS: list[tuple[str, Any, str]] = [
    ("target", lambda c: late(c)[0].update(target=7), r"in_flight\[0\], target must be -1 to 2"),
    ("envelope", lambda c: late(c)[0].pop("source"), r"in_flight\[0\]: 'source' is missing"),
    ("carried", lambda c: late(c)[0].update(colour=1), r"in_flight\[0\]: there is no key 'colour'"),
    ("bag", lambda c: late(c).reverse(), "in_flight must list the members"),
    ("zxid", lambda c: c["initial"]["last_committed"][0].update(epoch=-1), r"last_committed\[0\], epoch must be"),
]


def late(content: dict[str, Any]) -> Any:
    """What is in flight after some step."""
    return next(s["state"]["in_flight"] for s in content["steps"] if len(s["state"]["in_flight"]) > 2)


@pytest.mark.parametrize(("edit", "message"), [e[1:] for e in EDITS], ids=[e[0] for e in EDITS])
def test_a_field_of_another_kind_is_refused(edit: Any, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        altered(plain(), edit)


@pytest.mark.parametrize(("edit", "message"), [e[1:] for e in LAB_EDITS], ids=[e[0] for e in LAB_EDITS])
def test_a_field_of_the_lab_of_another_kind_is_refused(edit: Any, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        altered(plain(0, LAB), edit)


# --- verify --------------------------------------------------------------------------------------


def message_step(trace: Trace) -> int:
    """The place of a step that received a message and sent one."""
    return next(k for k, s in enumerate(trace.steps) if s.message is not None and s.sent)


@pytest.mark.parametrize("field", ["promised_epoch", "link", "delivered_length", "timeouts_left", "abcast_by"])
def test_an_altered_state_is_refused(field: str) -> None:
    def edit(content: dict[str, Any]) -> None:
        place: Any = content["steps"][7]["state"]
        key: Any = field
        while isinstance(place[key], list):
            place, key = place[key], 0
        place[key] = 0 if place[key] else 1

    with pytest.raises(TraceError, match=rf"^step 8, state\.{field}"):
        verify(altered(plain(), edit))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda s: s.update(label="l.9.9"), "label: the trace says"),
        (lambda s: s["message"].update(number=77), "message.number"),
        (lambda s: s["message"].update(connection=77), "message.connection"),
        (lambda s: s["sent"].pop(), "sent"),
        (lambda s: s["sent"][0].update(lost=True), r"sent\[0\].lost"),
        (lambda s: s["word"].update(choice=1), "word: .* takes alternative 1"),
        (lambda s: s["word"].update(place=1), "word: .* is not possible there"),
        (lambda s: s.update(process=None), "process"),
        (lambda s: s["accepted"].append({"process": 0, "epoch": 1, "txn": ONE}), "accepted"),
    ],
)
def test_an_altered_step_is_refused(edit: Any, message: str) -> None:
    k = message_step(plain())
    with pytest.raises(TraceError, match=rf"^step {k + 1}, {message}"):
        verify(altered(plain(), lambda c: edit(c["steps"][k])))


def test_a_property_that_does_not_break_is_refused() -> None:
    p = property_named("agreement", PROPERTIES)
    claimed = dataclasses.replace(plain(), property_name=p.name, statement=p.statement, source=p.source)
    with pytest.raises(TraceError, match=r"property: the last step does not violate agreement"):
        verify(claimed)
    with pytest.raises(TraceError, match="header, statement"):
        verify(dataclasses.replace(claimed, statement="anything"))


# --- the sentences ---------------------------------------------------------------------------------

ONE = {"epoch": 1, "counter": 1, "value": 1}
TWO = {"epoch": 2, "counter": 1, "value": 2}
NEXT = {"epoch": 1, "counter": 2, "value": 2}


def history(**facts: Any) -> dict[str, Any]:
    """A state with an observed history written by hand: p0 abcast t1 <1,1> and p1 t2 <2,1>."""
    out = copy.deepcopy(plain().initial)
    out.update(abcasts=2, abcast_txn=[ONE, TWO], abcast_by=[0, 1], chosen_epoch=[1, 2])
    out.update(facts)
    return out


def of_states(*states: Any, configuration: Configuration | None = None) -> Trace:
    """A trace of states alone, between which nothing is said to have happened."""
    steps = tuple(
        Step(k + 1, StepWord("oracle", {"process": 0, "leader": 0}), "", 0, None, None, (), (), (), (), (), s)
        for k, s in enumerate(states[1:])
    )
    return Trace(configuration or plain().configuration, "", "", "", states[0], steps, "")


CASES: list[tuple[str, dict[str, Any], str]] = [
    (
        "integrity",
        {"abcasts": 1, "delivered": [[], [TWO], []]},
        "p1 delivered t2 <2,1>, which no process had broadcast.",
    ),
    (
        "integrity",
        {"delivered": [[], [], [{**ONE, "epoch": 3}]]},
        "p2 delivered t1 <3,1>, but what p0 broadcast was t1 <1,1>.",
    ),
    (
        "total-order",
        {"delivered": [[TWO], [ONE, TWO], []]},
        "p1 delivered t1 <1,1> before t2 <2,1>, but p0 delivered t2 <2,1> without t1 <1,1>.",
    ),
    (
        "total-order",
        {"delivered": [[TWO, ONE], [ONE, TWO], []]},
        "p0 delivered t2 <2,1> before t1 <1,1>, but p1 delivered t1 <1,1> before t2 <2,1>.",
    ),
    (
        "agreement",
        {"delivered": [[TWO], [ONE], []]},
        "p0 delivered t2 <2,1> but not t1 <1,1>, and p1 delivered t1 <1,1> but not t2 <2,1>.",
    ),
    (
        "local-primary-order",
        {"abcast_txn": [ONE, NEXT], "abcast_by": [0, 0], "delivered": [[], [], [NEXT]]},
        "Primary p0 broadcast t1 <1,1> before t2 <1,2>, but p2 delivered t2 <1,2> without t1 <1,1>.",
    ),
    (
        "prefix",
        {"abcast_txn": [ONE, NEXT], "abcast_by": [0, 0], "delivered": [[], [], [NEXT]]},
        "Leader p0 of epoch 1 proposed t1 <1,1> before t2 <1,2>, but p2 delivered t2 <1,2> without t1 <1,1>.",
    ),
    (
        "global-primary-order",
        {"delivered": [[], [TWO, ONE], []]},
        "p1 delivered t2 <2,1>, broadcast by p1, before t1 <1,1>, broadcast by p0 as primary of the earlier epoch 1.",
    ),
    (
        "primary-integrity",
        {"delivered": [[], [], [ONE]]},
        "p1, primary of epoch 2, broadcast t2 <2,1> without having delivered t1 <1,1> of the earlier epoch 1, which",
    ),
    (
        "po-causal-order",
        {"abcast_after": [[], [0]], "delivered": [[], [], [TWO]]},
        "t1 <1,1> PO-precedes t2 <2,1> (p1 had delivered it when it broadcast the latter), but p2 delivered t2 <2,1>",
    ),
    ("strict-causality", {"delivered": [[], [], [ONE, TWO]]}, "p2 delivered t1 <1,1> and t2 <2,1>, and neither"),
    (
        "causal-order",
        {"delivered": [[], [], [TWO, ONE]]},
        "p2 delivered t2 <2,1> before t1 <1,1>, but p0 proposed t1 <1,1> as leader of epoch 1",
    ),
    (
        "invariant-5",
        {
            "current_epoch": [0, 0, 1],
            "pass_length": [0, 0, 1],
            "abcast_txn": [ONE, NEXT],
            "delivered": [[], [], [NEXT]],
        },
        "p2 delivered t2 <1,2> as number 1 of epoch 1 in this pass, where the broadcast has t1 <1,1>.",
    ),
    (
        "one-primary-an-epoch",
        {"abcast_txn": [ONE, {**ONE, "value": 2}], "abcast_attempt": [0, 1]},
        "Two primaries broadcast in epoch 1: p0 broadcast t1 <1,1>, and p1 broadcast t2 <1,1>.",
    ),
    ("one-leader-an-epoch", {"established": [0, 2, 0, 0, 0, 0, 0]}, "Epoch 1 has more than one established leader."),
    (
        "chosen-in-later-histories",
        {"missing_epoch": [2, 0]},
        "t1 <1,1> was chosen in epoch 1, but is missing or out of order in the initial history of epoch 2.",
    ),
    (
        "delivered-is-chosen",
        {"chosen_epoch": [0, 0], "delivered": [[], [ONE], []]},
        "p1 delivered t1 <1,1>, but no quorum had accepted it: nobody had.",
    ),
    (
        "unique-zxid",
        {"abcast_txn": [ONE, {**ONE, "value": 2}]},
        "p0 broadcast t1 <1,1>, and p1 broadcast t2 <1,1>: one zxid stands for two transactions.",
    ),
    ("delivered-stands", {"revised": [0, 2, 0]}, "p1 replaced its history, and with it what it had delivered."),
    (
        "total-order",
        {"diverged": [False, True, False]},
        "p1 delivered in one pass otherwise than in another, or the same twice in one.",
    ),
    (
        "durability",
        {"delivered": [[], [ONE], []], "history": [[], [ONE], [TWO]]},
        "p1 delivered t1 <1,1>, which is in the stable history of {p1}, and not of {p0, p2}, so not of a quorum.",
    ),
    (
        "durability",
        {"delivered": [[ONE], [], []], "history": [[], [], []]},
        "p0 delivered t1 <1,1>, which is in the stable history of nobody, and not of {p0, p1, p2}, so not of a quorum.",
    ),
]


@pytest.mark.parametrize(("name", "facts", "sentence"), CASES)
def test_why_names_the_events(name: str, facts: dict[str, Any], sentence: str) -> None:
    assert why(of_states(history(**facts)), name).startswith(sentence)


def test_why_tells_who_lost_what_was_delivered() -> None:
    had = history(delivered=[[ONE], [], []], history=[[ONE], [ONE], []])
    lost = history(delivered=[[ONE], [], []], history=[[ONE], [], []])
    assert why(of_states(history(), had, had, lost, lost), "durability") == (
        "p0 delivered t1 <1,1>, which is in the stable history of {p0}, and not of {p1, p2}, so not of a quorum. "
        "Step 1: p0.history [] -> [t1 <1,1>], p1.history [] -> [t1 <1,1>]; step 3: p1.history [t1 <1,1>] -> []."
    )


def ending(trace: Trace, last: Any, before: Any = None) -> Trace:
    """The trace up to the first step of a kind, with the state before it and the step edited."""
    kind, edit = last
    content = json.loads(json.dumps(trace.as_dict()))
    steps = content["steps"]
    k = next(k for k, s in enumerate(steps) if s["message"] is not None and s["message"]["kind"] == kind)
    del steps[k + 1 :]
    edit(steps[k]["state"], steps[k]["message"]["destination"])
    if before is not None:
        before(steps[k - 1]["state"], steps[k]["message"]["destination"])
    return trace_of(content)


def test_why_names_the_step_that_breaks_a_property_of_steps() -> None:
    def same(s: Any, p: int) -> None:
        pass

    def put(field: str, value: Any) -> Any:
        return lambda s, p: s[field].__setitem__(p, value)

    wrong = ending(plain(), ("PROPOSE", put("current_epoch", 0)))
    n = len(wrong.steps)
    assert why(wrong, "invariant-1") == (
        "p2 accepted a proposal of epoch 1 while its current epoch is 0. "
        f"Step {n}: p2.current_epoch 1 -> 0, p2 accepts t1 <1,1> in epoch 1."
    )
    wrong = ending(plain(), ("PROPOSE", same), put("promised_epoch", 3))
    assert why(wrong, "invariant-3") == (
        "p2 accepted a proposal of epoch 1 after it had promised epoch 3. "
        f"Step {n}: p2.promised_epoch 3 -> 1, p2 accepts t1 <1,1> in epoch 1."
    )
    wrong = ending(plain(), ("PROPOSE", put("history", [TWO, ONE])), put("history", [TWO]))
    assert why(wrong, "invariant-2").startswith(
        f"p2 accepted t1 <1,1> after t2 <2,1>, against the order of zxids. Step {n}: p2.history [t2 <2,1>] -> "
    )
    wrong = ending(plain(), ("NEWEPOCH", put("history", [ONE])))
    assert why(wrong, "invariant-4") == (
        "The history of p1 is [t1 <1,1>] with current epoch 0, but its ACK-E carried [] with current epoch 0. "
        f"Step {len(wrong.steps)}: p1.history [] -> [t1 <1,1>]."
    )
    for p in PROPERTIES:
        if p.of == "step":
            with pytest.raises(TraceError, match="nothing"):
                why(ending(plain(), ("PROPOSE", same)), p.name)


@pytest.mark.slow(seconds=1)
def test_a_trace_that_is_no_true_run_is_shown_or_refused() -> None:
    """Whatever numbers a file holds, as long as they are in range."""
    chance = random.Random(2)
    trace = violation("small-quorum", "delivered-is-chosen", txns=1)
    for _ in range(40):
        content = json.loads(json.dumps(trace.as_dict()))
        for _ in range(6):
            place: Any = chance.choice(content["steps"])[chance.choice(("state", "state", "word"))]
            while isinstance(place, (dict, list)) and place:
                key = chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
                if isinstance(place[key], (int, bool)):
                    place[key] = type(place[key])(chance.randint(0, 3))
                place = place[key]
        for export in EXPORTS.values():
            try:
                said = export(trace_of(content))
            except TraceError as error:
                said = str(error)
            assert said


def test_a_property_that_holds_has_no_reason() -> None:
    with pytest.raises(TraceError, match="nothing in the last state violates"):
        why(of_states(history()), "agreement")
    with pytest.raises(TraceError, match="the run has no step"):
        why(of_states(history()), "invariant-1")
    assert why(plain()) == ""


def scrambled(layout: Any, chance: random.Random, names: dict[str, Any]) -> StateView:
    """A state whose observed history is anything at all."""
    s = StateView(layout)
    txns = s.TXNS
    s.abcasts = chance.randint(0, txns)
    pool = []
    literal = layout.schema.constants["LITERAL"]
    for k in range(txns):
        t = names["Txn"](epoch=chance.randint(1, 2), counter=chance.randint(1, txns), value=k + 1)
        pool.append(t)
        s.chosen_epoch[k] = chance.choice((0, 1, 1, 2))
        s.missing_epoch[k] = chance.choice((0, 0, 0, 2))
        if k < s.abcasts:
            s.abcast_txn[k] = t
            s.abcast_by[k] = chance.randrange(s.NODES)
            s.abcast_attempt[k] = chance.choice((0, 0, 0, 1))
            for j in range(k):
                if chance.random() < 0.6:
                    s.abcast_after[k].add(j)
    s.established[1] = chance.choice((0, 1, 1, 2))
    for p in range(s.NODES):
        for t in chance.sample(pool, chance.randint(0, txns)):
            s.delivered[p].append(t)
        for t in chance.sample(pool, chance.randint(0, txns)):
            s.history[p].append(t)
        s.pass_length[p] = chance.randint(0, len(s.delivered[p]))
        s.synced_length[p] = chance.randint(0, s.pass_length[p]) if literal else 0
        s.current_epoch[p] = chance.randint(0, 2)
        s.diverged[p] = chance.random() < 0.1
        s.revised[p] = chance.choice((0, 0, 1, 2)) if layout.fields["revised"].kind.hi else 0
        if "recognized" in layout.fields:  # who follows whom, in ladis
            s.leader[p], s.synced[p] = chance.choice((0, 0, 1)), chance.random() < 0.8
            s.stage[p] = chance.choice((3, 4))
    return s


def test_every_false_has_its_sentence_and_every_place_of_it_a_value() -> None:
    """Over histories of any kind; those of the tree are in tests/invariants/test_tree.py, and those of two leaders,
    which no history shows, in tests/invariants/test_premises.py."""
    chance = random.Random(5)
    apart = (*tree.PROPERTIES, *takeover.PROPERTIES)
    judged = [p for p in PROPERTIES if p.of != "step" and p not in apart]
    broken = dict.fromkeys((p.name for p in judged), 0)
    ladis = Configuration(protocol="ladis", txns=3)
    for configuration in (Configuration(txns=3, literal=True), Configuration(protocol="db19", txns=3), ladis):
        names = Runner(Model(configuration)).names
        layout = Model(configuration).program.layout
        for _ in range(150):
            s = scrambled(layout, chance, names)
            for p in judged:
                if p.judges(configuration.protocol):
                    result = names[p.holds.__name__](s)
                    assert (sentence_of(result) == "") == bool(result)
                    if isinstance(result, ExplainedFalse):
                        assert None not in result.values, (p.name, result.text)
                        broken[p.name] += 1
    assert min(broken.values()) > 0


# Runs of variants that break something, which the explorer finds in a moment.
VIOLATIONS: list[tuple[str, str, dict[str, int], str]] = [
    ("small-quorum", "delivered-is-chosen", {"txns": 1}, "but no quorum had accepted it: only {p"),
    ("small-quorum", "one-leader-an-epoch", {"txns": 1}, "Epoch 1 has more than one established leader. Step "),
    (
        "db19",
        "unique-zxid",
        {},
        "p2 broadcast t1 <1,1>, and p2 broadcast t2 <1,1>: one zxid stands for two transactions. "
        "Step 8: p2 abcasts t1 <1,1>; step 11: p2 abcasts t2 <1,1>.",
    ),
    ("db19", "delivered-stands", {}, ", which has delivered [t1 <1,1>], replaces its history with []."),
    ("db19", "durability", {}, "so not of a quorum. Step "),
]


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(("variant", "name", "budget", "sentence"), VIOLATIONS)
def test_a_found_violation_is_told(
    variant: str, name: str, budget: dict[str, int], sentence: str, tmp_path: Path
) -> None:
    trace = violation(variant, name, **budget)
    verify(trace)
    write_trace(trace, tmp_path / "t.json")
    again = read_trace(tmp_path / "t.json")
    assert again == trace
    assert sentence in why(again)
    assert why(again) in " ".join(to_text(again).partition("Configuration:")[0].split())


def test_a_trace_that_goes_on_after_the_violation_is_refused() -> None:
    trace = violation("small-quorum", "one-leader-an-epoch", txns=1)
    runner = Runner(trace.model)
    for word in trace.schedule:
        runner.step(word)
    words = (*trace.schedule, runner.possible()[0])
    longer = build_trace(trace.model, property_named(trace.property_name, PROPERTIES), words)
    with pytest.raises(TraceError, match=rf"^step {len(trace.steps)}, property: .* before the last step"):
        verify(longer)


# --- text and the other formats ------------------------------------------------------------------


@pytest.mark.slow(seconds=1)
def test_itf_reads_back() -> None:
    trace = plain()
    read = itf_py.trace_from_json(json.loads(to_itf(trace)))
    assert len(read.states) == len(trace.steps) + 1
    assert set(read.vars) == set(read.states[0].values) == {"action", *trace.initial}
    last = read.states[-1].values
    state = trace.steps[-1].state
    for p, members in enumerate(state["Q"]):
        assert last["Q"][p] == frozenset(members)
        assert [t.counter for t in last["history"][p]] == [t["counter"] for t in state["history"][p]]
        assert last["role"][p] == state["role"][p]
        assert last["ready"][p] is state["ready"][p]
    lab = plain(0, LAB)
    for read_state, state in zip(itf_py.trace_from_json(json.loads(to_itf(lab))).states, lab.states, strict=True):
        flying = [(m.source, m.target, type(m).__name__) for m in read_state.values["in_flight"]]
        assert flying == [(m["source"], m["target"], m["kind"]) for m in state["in_flight"]]
    first = read.states[1].values["to_leader"][1][2][0]
    assert type(first).__name__ == "CEPOCH"
    assert first.epoch == 0


def test_other_networks_number_their_messages() -> None:
    for network, extra in (("lossy", {"drops": 2}), ("unordered", {}), ("duplicating", {"duplicates": 2})):
        trace = plain(3, Configuration(timeouts=1, crashes=1, losses=0, network=network, **extra))
        verify(trace)
        for export in EXPORTS.values():
            assert export(trace)


def test_a_crash_inside_a_step_is_told() -> None:
    """Of a variant whose f.2.1 is not atomic."""
    runner = Runner(Model(Configuration(variant="history-then-epoch", timeouts=0, crashes=1, losses=0)))
    words: list[int] = []
    while not words or StepWord.of(words[-1]).kind != "crash_in_receipt":
        # every process follows p0, and nobody crashes but inside f.2.1
        kinds = {word: StepWord.of(word) for word in runner.possible()}
        words.append(
            max(
                (w for w, x in kinds.items() if x.kind != "crash" and x.operands.get("leader", 0) == 0),
                key=lambda w: kinds[w].kind == "crash_in_receipt",
            )
        )
        runner.step(words[-1])
    trace = build_trace(runner.model, None, words)
    verify(trace)
    assert "crash inside a step, f.2.1 on NEWLEADER from p0" in to_text(trace)
    assert trace.steps[-1].accepted == ()
    assert trace.steps[-1].state["role"].count(3) == 1
