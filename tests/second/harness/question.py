"""A request, opened by the product: its model, properties, and steps, named as in docs/reference/semantics.md."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from checker.opinion.plain import Plain, label_of
from invariants import properties_of
from invariants.binding import bound, full_namespace
from invariants.registry import STEP, TERMINAL, Property
from zabspec.language.front.frontend import FrontEnd
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.worlds.steps import BUDGETS

# What the properties of atomic broadcast read that random protocols are judged by (docs/reference/semantics.md, O7).
ABCAST = frozenset({"delivered", "abcasts", "abcast_txn"})
READ_BY_CORE = {
    "integrity": ABCAST, "total_order": frozenset({"delivered", "diverged"}),
    "one_leader_an_epoch": frozenset({"established"}), "delivered_is_chosen": ABCAST | {"chosen_epoch"},
    "unique_zxid": ABCAST - {"delivered"}, "delivered_stands": frozenset({"revised"}),
    "po_causal_order": ABCAST | {"abcast_by", "abcast_attempt", "abcast_after"},
}  # fmt: skip
DROPPED = frozenset({"abcast_by", "abcast_after"})  # where only these are judged (docs/explanation/reductions.md)


class Question:
    """One request.

    Args:
        request: as the reference takes it.

    Raises:
        ConfigError: the product refuses it, or the protocol.
        LanguageError: the same.
    """

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.request = request
        name = str(request["protocol"])
        own = PROTOCOLS[name].text is not None
        given = dict(request["budgets"])
        world = {k: v for k, v in given.items() if k in BUDGETS}
        parameters = PROTOCOLS[name].parameters if own else {}
        budgets = ",".join(f"{k}={v}" for k, v in given.items() if k not in {*BUDGETS, *parameters})
        sizes = ",".join(f"{k}={v}" for k, v in given.items() if k in parameters)
        more = {k: v for k, v in request.get("sizes", {}).items() if k in ("txns", "max_epoch", "channel")}
        self.configuration = Configuration(
            protocol=name, variant=request.get("variant", ""), nodes=request["nodes"], network=request["network"],
            budgets=budgets if own else "", parameters=sizes, start=request.get("start", ""),
            quorums=request.get("quorums", ""), **world, **more,
        )  # fmt: skip
        self.model = Model(self.configuration)
        wanted = request["properties"]
        self.properties: tuple[Property, ...] = tuple(p for p in properties_of(name) if p.name in wanted)

    def check(self) -> None:
        """Type the whole text, its properties too.

        Raises:
            LanguageError: it is outside the language.
        """
        front = self.front_end()
        for name in ("apply", "enabled", *(f.__name__ for p in self.properties for f in (p.holds, p.witness))):
            front.function(name)

    def front_end(self) -> FrontEnd:
        """A front end that has typed nothing yet."""
        program = self.model.program
        return FrontEnd(program.layout, full_namespace(self.model), program.types, program.handlers)

    @property
    def of_core(self) -> bool:
        """Whether all that is judged are properties of atomic broadcast: a search with ample sets may drop ghosts."""
        return all(p.holds.__name__ in READ_BY_CORE for p in self.properties)

    @cached_property
    def read_of_states(self) -> frozenset[tuple[str, str]]:
        """The fields, with their sections, that properties of states name in the source, they and what they call; of
        the properties of atomic broadcast those that they are defined over."""
        text = ast.parse(Path(str(self.request["protocol"])).read_text())
        bodies = {f.name: f for f in ast.walk(text) if isinstance(f, ast.FunctionDef)}
        ahead = [p.holds.__name__ for p in self.properties if p.of not in (STEP, TERMINAL)]
        names = {field for p in ahead if p not in bodies for field in READ_BY_CORE[p]}
        if not any(p in bodies for p in ahead):
            names -= DROPPED
        ahead = [p for p in ahead if p in bodies]
        known = set(ahead)
        while ahead:
            for e in ast.walk(bodies[ahead.pop()]):
                if isinstance(e, ast.Attribute):
                    names.add(e.attr)
                if isinstance(e, ast.Name) and e.id in bodies and e.id not in known:
                    known.add(e.id)
                    ahead.append(e.id)
        return frozenset((section, name) for section, name, f in self.plain.fields if f.name in names)

    @cached_property
    def plain(self) -> Plain:
        return Plain.of(self.model)

    @cached_property
    def names(self) -> Mapping[str, Any]:
        """The functions of the program and of the properties, as CPython runs them."""
        return bound(self.model)

    @cached_property
    def starts(self) -> list[bytes]:
        """The initial states."""
        return [*self.model.program.starts]

    def label(self, word: int) -> str:
        """A step word as an edge's label."""
        return label_of(self.model, word)
