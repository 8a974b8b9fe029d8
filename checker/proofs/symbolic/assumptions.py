"""The assumptions of an induction: ranges that are cut on purpose, and how often budgeted steps may happen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import FunctionType

from invariants.proofs import datagrams
from invariants.proofs.argument import is_whole
from invariants.registry import Property
from zabspec.authoring.checks import is_ours
from zabspec.language.analysis.tree import Site
from zabspec.language.layout.bytecode import functions_that_run, names_in
from zabspec.model import Configuration, Model
from zabspec.worlds.disks import OF_DISKS

EPOCHS = "--max-epoch"  # the flag of the range that every model cuts on purpose: the protocol has no last epoch
FLIGHT = 6  # messages in flight, for a user protocol that does not bound them


def faults(model: Model) -> list[str]:
    """Return the numbers of steps that may be left in each budget."""
    c, protocol = model.configuration, model.protocol
    of_world = (
        n for n, b in model.world.budgets.items()
        if b.network.get(model.world.name, c.network) == c.network and (n not in OF_DISKS or protocol.disks)
    )  # fmt: skip
    mine = [*dict.fromkeys((*protocol.budgets, *of_world))]
    never, given = [n for n in mine if not c.budget[n]], [n for n in mine if c.budget[n]]
    if is_whole(c.protocol):
        out = ["any number of faults of the kinds with a budget may remain: no clause reads a budget"]
    else:
        counted = [n for n in given if counts(model, n)]
        free = [n for n in given if n not in counted]
        out = [f"at most {c.budget[n]} {n}: the protocol counts them" for n in counted]
        if free:
            out.append(f"any number of {' and of '.join(free)} may remain: the protocol does not count them")
    return out + ([f"no {', '.join(never).replace('_', ' ')} ever: they have no budget"] if never else [])


def widened(model: Model) -> set[str]:
    """Return the flags that a user protocol names as widening its ranges: it cuts those ranges on purpose."""
    return {s.widen for s in model.program.typed(["apply"]).sites if s.widen.startswith(("-", "declare("))}


def places(sites: Iterable[Site]) -> str:
    """Return the places where a range is cut."""
    text = "; ".join(site.sentence().rpartition("; widen")[0] for site in sites)
    return f": {text}" if text else ""


def counts(model: Model, name: str) -> bool:
    """Return whether the amount left of a budget matters to a user protocol, beyond whether anything is left.

    It does if the protocol, or a clause, reads the amount, or if what declares its fields does.
    """
    text = model.protocol.text
    there = (*vars(text.module).values(), *model.program.overrides.values())
    roots = [f for f in there if isinstance(f, FunctionType) and not is_ours(f)]
    if any({f"{name}_left", name.upper()} & names_in(f.__code__) for f in functions_that_run(roots) if not is_ours(f)):
        return True
    budgets = Budgets(model.whole_size.budgets)
    text.parts(replace(model.whole_size, budgets=budgets))
    return name in budgets.read


class Budgets(Mapping[str, int]):
    """Budgets that record which of them are read: one more need not change a range that a hundred more do."""

    def __init__(self, amounts: Mapping[str, int]) -> None:
        self.amounts = amounts
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> int:
        self.read.add(name)
        return self.amounts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.amounts)

    def __len__(self) -> int:
        return len(self.amounts)


def beside(c: Configuration) -> tuple[Property, ...]:
    """Return the clauses about its network that a user protocol need not state, and that are checked with it."""
    model = Model(c)
    return () if is_whole(c.protocol) else datagrams.beside(model.program.layout.fields)


def sized(c: Configuration) -> Configuration:
    """Return a configuration for z3: with room for few messages in flight, if their number is not bounded."""
    declared = Model(c).protocol.declared
    unbounded = declared.flight is None and not declared.bounded_by_world
    return replace(c, channel=FLIGHT) if unbounded and not c.channel else c


def cut(c: Configuration) -> set[str]:
    """Return the flags of the ranges that a configuration cuts on purpose.

    They are those of epochs always, of channels if they have less room than the protocol needs, and those that a user
    protocol names as widening a range.
    """
    if not Model(c).protocol.declared.bounded_by_world:
        return {EPOCHS, "--channel", *widened(Model(c))}
    small = 0 < c.channel < max(Model(replace(c, channel=0)).channels)
    return {EPOCHS, *(["--channel"] if small else [])}
