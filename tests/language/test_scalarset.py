"""Processes are a scalarset: a text that tells them apart is told so with file and line, whatever way it takes, and
the texts that do not keep their symmetry. The front end says so; nothing is compiled here."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from checker.explore.symmetry import CALLERS, DECODERS, asymmetry, found_in
from checker.proofs.refine.model import RefinedModel
from checker.proofs.symbolic import pool
from invariants import PROPERTIES
from invariants.binding import full_namespace
from invariants.proofs import CLAUSES
from invariants.registry import STATE, Property
from tests import alike_texts, apart_texts
from tests.models import import_text
from zabspec import zab
from zabspec.language import Field, Int, Layout, NodeId, Record, Role, Schema, Seq, SetOf
from zabspec.language.analysis.scalarset import in_layout
from zabspec.language.front.frontend import FrontEnd
from zabspec.language.layout.schema import NODE
from zabspec.language.symmetry import Asymmetry, Trusted, asymmetries
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS

HEAD = """from __future__ import annotations

from zabspec.language.python.lang import *
from zabspec.worlds.actor import *
from zabspec.zab import *


"""


def functions_of(module: ModuleType) -> dict[str, FunctionType]:
    return {k: v for k, v in vars(module).items() if isinstance(v, FunctionType) and v.__module__ == module.__name__}


def found(module: ModuleType, protocol: str = "zab") -> list[Asymmetry]:
    """Where the functions of a module tell processes apart."""
    model = Model(Configuration(protocol=protocol))
    own = functions_of(module)
    front = FrontEnd(model.program.layout, full_namespace(model) | own, model.program.types, ())
    return asymmetries(front, own, Trusted(DECODERS, CALLERS))


def lines_of(case: str) -> range:
    """The lines of a function."""
    code = {name: f.__code__ for name, f in functions_of(apart_texts).items()}
    return range(code[case].co_firstlineno, max(line or 0 for _, _, line in code[case].co_lines()) + 1)


def said_of(case: str) -> dict[int, str]:
    """What a function's comments say will be told, by line."""
    lines = Path(apart_texts.__file__ or "").read_text(encoding="utf-8").split("\n")
    return {k: lines[k - 1].split("  # ")[1] for k in lines_of(case) if "  # " in lines[k - 1]}


@cache
def told_apart() -> list[Asymmetry]:
    return found(apart_texts)


@pytest.mark.parametrize("case", [name for name in functions_of(apart_texts) if said_of(name)])
def test_code_that_tells_processes_apart_loses_symmetry_with_a_reason(case: str) -> None:
    told = [a for a in told_apart() if a.line in lines_of(case)]
    assert {Path(a.file).name for a in told} == {"apart_texts.py"}
    for line, reason in said_of(case).items():
        assert [a for a in told if a.line == line and re.search(reason, a.reason)], [a.sentence() for a in told]


@pytest.mark.parametrize("case", functions_of(alike_texts))
def test_a_text_that_treats_processes_alike_keeps_symmetry(case: str) -> None:
    module = ModuleType(alike_texts.__name__)
    vars(module).update({case: functions_of(alike_texts)[case]})
    assert [a.sentence() for a in found(module)] == []


def test_a_bag_may_be_filled_in_any_order(tmp_path: Path) -> None:
    """What is in flight over datagrams is a bag, whose order means nothing."""
    text = "def f(s: State) -> None:\n    for p in range(s.NODES):\n        s.in_flight.append(s.event_message)\n"
    said = [a.sentence() for a in found(import_text(tmp_path, "bags", HEAD + text), "db19")]
    assert [a for a in said if "bags" in a] == []


# --- the texts there are -------------------------------------------------------------------------


@pytest.mark.parametrize("network", PROTOCOLS["zab"].world.networks)
def test_zab_has_symmetry_with_all_that_is_asked_of_it(network: str) -> None:
    """With every property, and where the invariant is for it with every clause."""
    judged = [p for p in PROPERTIES if p.judges("zab")]
    model = Model(Configuration(network=network, partitions=1, literal=True, passes=True))
    assert [a.sentence() for a in found_in(model, (*judged, *(CLAUSES if network == "fifo" else ())))] == []


def test_the_bridge_has_symmetry() -> None:
    model = RefinedModel(Configuration(partitions=1))
    assert [a.sentence() for a in found_in(model, model.properties)] == []


def test_db19_says_where_it_tells_processes_apart() -> None:
    """Votes for the highest id; and what was voted is kept by numbers."""
    told = [a.sentence() for a in found_in(Model(Configuration(protocol="db19")), ())]
    more = f"{told[0]}, and {len(told) - 1} more"
    assert asymmetry(Model(Configuration(protocol="db19")), ()) == f"the protocol distinguishes processes: {more}"
    assert re.fullmatch(r"processes are compared by their order \(>\) \(zabspec/protocols/election.py:\d+\)", told[0])
    assert any("index of vote_view, where a number is expected" in sentence for sentence in told)


def test_the_list_of_what_is_trusted_is_this() -> None:
    """A handful of the package's own, and only beside them may they be called."""
    names = {f"{f.__module__}.{f.__name__}" for f in DECODERS}
    assert names == {
        "zabspec.worlds.step_annotations.any_step",
        "zabspec.worlds.step_annotations.no_steps",
        "zabspec.worlds.step_annotations.emit",
        "zabspec.worlds.step_annotations.emit_alone",
        "zabspec.worlds.step_annotations.emit_which",
        "zabspec.worlds.step_annotations.emit_inside",
        "zabspec.worlds.step_annotations.emit_nobodys",
        "zabspec.worlds.step_annotations.process_in",
        "zabspec.worlds.step_annotations.peer_in",
        "zabspec.worlds.crash_within.emit_inside_with",
        "zabspec.worlds.crash_within.peer_inside",
        "zabspec.worlds.storage.may_fail_electing",
        "zabspec.worlds.connections.is_smallest_quorum",
        "zabspec.worlds.connections.may_elect",
        "zabspec.worlds.connections.elect",
        "zabspec.worlds.connections.emit_elections",
        "zabspec.worlds.connections.emit_cuts",
        "zabspec.worlds.connections.cuts",
        "zabspec.worlds.connections.part",
        "checker.explore.masks.is_in",
        "checker.explore.masks.mask_of",
        "checker.explore.masks.anybody",
        "checker.explore.masks.any_of_latest",
    }
    named = ("connections", "datagrams", "crash_within", "priority", "storage", "outages")
    worlds = {f"zabspec.worlds.{name}" for name in named}
    assert set(CALLERS) == worlds | {"checker.proofs.refine.mapping"}
    assert all(d.why for d in DECODERS.values())


def test_nothing_is_trusted_by_its_name(tmp_path: Path) -> None:
    """A function called as one on the list, with a module that says it is the world's, is another function."""
    text = "def process_in(word: int) -> Node:\n    return word & 1  # HERE\n"
    told = found(import_text(tmp_path, "namesakes", HEAD + text))
    assert [a.reason for a in told] == ["process_in returns a number where a process is expected"]


# --- the way it takes through a whole program ----------------------------------------------------


def test_an_edited_protocol_a_property_and_a_clause_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is explored is asked with all that is judged of it: each alone ends symmetry."""
    text = HEAD + ("def to_commit(s: State, l: Node, k: int) -> bool:\n    return k >= s.committed[l] or l == 2\n")
    module = import_text(tmp_path, "edited", text)
    model = Model(Configuration())
    assert asymmetry(model, ()) == ""
    model.program.overrides = {"to_commit": module.to_commit}
    del model.program.namespace
    line = text[: text.index("or l == 2")].count("\n") + 1
    said = asymmetry(model, ())
    assert said.startswith("the protocol distinguishes processes: a process is compared with the number 2 (")
    assert f"edited.py:{line})" in said
    judging = import_text(tmp_path, "low", HEAD + "def leads_low(s: State) -> bool:\n    return s.role[0] == LEADING\n")
    monkeypatch.setattr("invariants.binding.MODULES", (judging,))
    low = Property("leads-low", STATE, "", "", judging.leads_low, judging.leads_low)
    assert "an index of role" in asymmetry(Model(Configuration()), (low,))
    assert asymmetry(Model(Configuration(nodes=1)), (low,)) == ""


def test_the_edit_of_the_issue_is_told_apart_wherever_it_hides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`quorum(...)` of l.3.2 becomes `quorum(...) or s.new_epoch[l] == 2 and l == 2`."""
    source = Path(zab.__file__).read_text(encoding="utf-8")
    before = "    if quorum(s, s.acks[l][k]):\n"
    after = "    if quorum(s, s.acks[l][k]) or (s.new_epoch[l] == 2 and l == 2):\n"
    assert source.count(before) == 1
    module = import_text(tmp_path, "zab_edited", source.replace(before, after))
    for name, value in vars(module).items():
        if isinstance(value, FunctionType) and value.__module__ == module.__name__:
            value.__module__ = zab.__name__
            monkeypatch.setattr(zab, name, value)
    line = source[: source.index(before)].count("\n") + 1
    told = found_in(Model(Configuration()), ())
    assert [(Path(a.file).name, a.line, a.reason) for a in told] == [
        ("zab_edited.py", line, "a process is compared with the number 2")
    ]


def test_an_induction_asks_about_every_process_where_they_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of actions that are renamings of each other one is asked about, unless the text tells processes apart."""
    question = pool.Question(Configuration(nodes=2, txns=1), (CLAUSES[0].name,), (), (), 9.0, 0, 1)
    assert pool.told_apart(question) == ""
    labels = {m.label for m in pool.induction(question).moves}
    assert "timeout(process=0)" in labels
    assert "timeout(process=1)" not in labels
    monkeypatch.setattr(pool, "told_apart", lambda question: "the protocol distinguishes processes: somewhere")
    assert "timeout(process=1)" in {m.label for m in pool.induction.__wrapped__(question).moves}
    assert pool.moves_of(question)[0] == "the protocol distinguishes processes: somewhere"


# --- the schema, and who is trusted ------------------------------------------------------------------

PAIR = Record("Pair", {"who": NodeId.of(3), "epoch": Int(0, 3)})
KINDS: dict[str, tuple[Field, str]] = {
    "a process": (Field("x", NodeId.of(3), Role.VOLATILE, (NODE,)), ""),
    "a set of processes": (Field("x", SetOf(3, nodes=True), Role.VOLATILE, (NODE, NODE)), ""),
    "a larger set of numbers": (Field("x", SetOf(5), Role.VOLATILE, (NODE,)), ""),
    "a record of numbers": (Field("x", Record("Two", {"a": Int(0, 3), "b": Int(0, 3)}), Role.VOLATILE), ""),
    "an axis behind another": (Field("x", Int(0, 1), Role.VOLATILE, (4, NODE)), "behind a number: write the numbers"),
    "a record with a process": (Field("x", PAIR, Role.VOLATILE), ""),
    "records with a process": (Field("x", Seq(PAIR, 2), Role.VOLATILE), ""),
    "a record with one too many": (
        Field("x", Record("Four", {"who": NodeId.of(4)}), Role.VOLATILE),
        "its range is -1..3",
    ),
    "a record with a set of too many": (
        Field("x", Record("Set", {"who": SetOf(4, nodes=True)}), Role.VOLATILE),
        "it holds a set of 4 processes",
    ),
    "a process too many": (Field("x", NodeId.of(4), Role.VOLATILE), "its range is -1..3"),
    "never nobody": (Field("x", NodeId(0, 2), Role.VOLATILE), "its range is 0..2"),
    "a member too many": (Field("x", SetOf(4, nodes=True), Role.VOLATILE), "it holds a set of 4 processes"),
    "what a step says of itself": (Field("x", PAIR, Role.SCRATCH), ""),
}  # fmt: skip


@pytest.mark.parametrize("what", KINDS)
def test_a_schema_in_which_renaming_does_not_reach_every_process_is_told(what: str) -> None:
    field, said = KINDS[what]
    told = [a.sentence() for a in in_layout(Layout(Schema(3, (field,), {})), None)]
    assert len(told) == bool(said)
    assert all(said in one and one.endswith("(field x)") for one in told)


def test_the_world_is_not_the_world_by_its_name(tmp_path: Path) -> None:
    """A function with a module that says it is the world's may not call what reads processes as numbers."""
    text = "from zabspec.worlds.step_annotations import process_in\n\n\ndef f(s: State, word: int) -> int:\n"
    module = import_text(tmp_path, "posing", HEAD + text + "    return s.role[process_in(word)]\n")
    module.f.__module__ = CALLERS[0]
    model = Model(Configuration())
    front = FrontEnd(model.program.layout, full_namespace(model) | {"f": module.f}, model.program.types, ())
    told = [a.reason for a in asymmetries(front, ["f"], Trusted(DECODERS, CALLERS))]
    assert told == ["process_in reads processes as numbers, and is only for the world"]
