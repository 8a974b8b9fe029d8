"""Whether TLC reaches exactly the states that the interpreter does: sets of states are compared, not counts."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.tlc import Counts
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.proofs.tla.env import ROOT, fixed
from checker.proofs.tla.module import Module, held, module_of
from checker.proofs.tla.values import value_of
from invariants import properties_of
from tests.proofs.tla.running import run_tlc
from zabspec.language.layout.kinds import Seq
from zabspec.language.layout.schema import Layout, Role
from zabspec.model import Configuration, Model


def reached(model: Model) -> set[bytes]:
    """Every state that the interpreter reaches."""
    world = Interpreter(model, (), False, every_step=True)  # a module has them all
    found = world.run(Limits())
    assert found.complete, found.error or found.stopped
    return world.seen


def as_record(layout: Layout, data: bytes, nodes: int, more: str) -> str:
    """A state as the module's view has it: what is in flight without its order."""
    parts = []
    for f in layout.schema.fields:
        if f.role is Role.SCRATCH or fixed(f):
            continue
        how = "Bag({})" if isinstance(f.kind, Seq) and f.kind.bag else "{}"
        value = held(layout, data, f, lambda kind, value, how=how: how.format(value_of(kind, value, nodes).text))
        parts.append(f"{f.name} |-> {value}")
    return "[" + ", ".join(parts) + more + "]"


def with_states(model: Model, name: str = "Model") -> tuple[Module, int]:
    """A model's module with one more invariant, that a state is one of the interpreter's; and how many these are."""
    made = module_of(model, properties_of(model.configuration.protocol), name)
    states = reached(model)
    said = re.findall(r"^ +(\w+) \|-> (.*?)[,\]]$", made.text[made.text.index("\nInit ==") :], re.MULTILINE)
    scratch = {f.name for f in model.program.layout.schema.fields if f.role is Role.SCRATCH}
    more = "".join(f", {field} |-> {value}" for field, value in said if field in scratch)
    known = ",\n  ".join(sorted(as_record(model.program.layout, s, model.configuration.nodes, more) for s in states))
    seen = "View" if "\nView ==" in made.text else ROOT
    text = made.text.replace("=" * 80, f"Reached == {{\n  {known}}}\n\nIsReached == {seen} \\in Reached\n{'=' * 80}")
    return Module(name, text, made.configuration + "INVARIANT IsReached\n", made.left_out, made.symmetric), len(states)


def compared(jar: Path, configuration: Configuration) -> tuple[Counts, int]:
    """What TLC counts, each state being held against the interpreter's; and how many the interpreter has."""
    made, count = with_states(Model(configuration))
    return run_tlc(jar, made, limit=600), count
