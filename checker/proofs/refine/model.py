"""A model of `zab` combined with the abstract protocol: each step takes both.

The schema has the abstract state as further ghosts, the program the generated actions and the mapping, and the world's
`initialize` and `apply` are the mapping's, which call those of the world. All else is the model's own, so every engine
that explores or interprets a model can do so with this one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

from checker.explore import masks
from checker.proofs.refine import agreement, mapping
from checker.proofs.refine.generate import MARK, Generated, Refusal, axioms_of, generate
from checker.proofs.refine.text import fields_of
from invariants.registry import STATE, STEP, Property
from zabspec.language import Field, Int, NodeId, Role
from zabspec.language.front import frontend
from zabspec.language.layout.cache_key import digest_of
from zabspec.language.program import Program, own_names
from zabspec.model import ConfigError, Configuration, Model
from zabspec.proofs.abstract.invariant import Clause
from zabspec.proofs.abstract.logic import Symbol, mentions
from zabspec.proofs.abstract.protocol import AbstractAction
from zabspec.proofs.abstract.theory import ZAB, Theory
from zabspec.proofs.abstract.vocabulary import abcast, counter, epoch, prefix

MAPPED = "zab"  # the protocol that `mapping.py` maps
REFINES = "refines"
CLAUSE = "clause "  # prefix of a clause's name among properties
GENERATED = "<the abstract protocol>"
MOST = 55  # the explorer's word has 56 bits for properties, and one is that every step refines
BY_HAND = (agreement, mapping, masks)
AGREEMENT_LIMIT: int = agreement.AGREEMENT_LIMIT
STANDS_FOR = {"initialize": "world_initialize", "apply": "world_apply"}


class RefinedModel(Model):
    """A configuration of `zab` combined with the abstract protocol.

    Args:
        configuration: what is explored.
        theory: the abstract protocol.
        overrides: functions that replace those of the mapping, by name: for tests of it.

    Raises:
        ConfigError: the protocol has no refinement check, or the configuration is too large for one.
    """

    def __init__(
        self, configuration: Configuration, theory: Theory = ZAB, overrides: Mapping[str, FunctionType] | None = None
    ) -> None:
        super().__init__(configuration)
        if configuration.protocol != MAPPED:
            raise ConfigError(
                f"the refinement check is from {MAPPED} to abstract ZAB, and there is none for {configuration.protocol}"
            )
        if self.epochs > 60:
            raise ConfigError(f"the refinement check takes at most 60 epochs, and these budgets make {self.epochs}")
        self.theory = theory
        self.overrides = dict(overrides or {})
        # the generated text is read by its file's name, so two of them need two
        digest = hashlib.sha256(self.generated.text.encode()).hexdigest()[:16]
        self.file = f"{GENERATED[:-1]} {digest}>"
        frontend.register_source(self.file, self.generated.text)

    @cached_property
    def generated(self) -> Generated:
        return generate(self.theory, agreement.AGREE_READY + 1)

    @property
    def generated_files(self) -> Collection[str]:
        return (self.file,)

    @property
    def extension(self) -> str:
        texts = [self.generated.text, repr(self._fields())]
        texts += [Path(module.__file__ or "").read_text(encoding="utf-8") for module in BY_HAND]
        texts.append(digest_of(self.overrides))
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()

    @property
    def judged_after(self) -> Mapping[str, Collection[str]]:
        """The actions after which a clause may begin to fail: those that change a symbol of it."""
        return {
            MARK + action.name: {CLAUSE + c.name for c in self.clauses if mentions(c.formula) & changed_by(action)}
            for action in self.theory.actions
        }

    @cached_property
    def properties(self) -> tuple[Property, ...]:
        """The judged properties: that every step refines, and each clause in every state."""
        names = self._functions
        if len(self.clauses) > MOST:
            raise ValueError(f"an exploration checks {MOST + 1} properties at once, and there are more clauses")
        clauses = tuple(
            Property(
                CLAUSE + name, STATE, "zabspec/proofs/abstract", "its hypotheses are reached", names[holds], names[met]
            )
            for name, (holds, met) in self.generated.clauses.items()
        )
        return (
            Property(
                REFINES, STEP, "the refinement check", "an abstract action", names["refines"], names["some_action"]
            ),
            *clauses,
        )

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """The axioms and the clauses of the invariant."""
        return (axioms_of(self.theory), *self.theory.clauses)

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """The names under which transitions of each abstract action are counted, and those of none."""
        return (*(MARK + name for name in self.generated.actions), MARK + "stutter")

    def fault(self, number: int) -> Refusal:
        """Return the meaning of a fault's number."""
        if number <= len(agreement.AGREEMENTS):
            return Refusal("", agreement.AGREEMENTS[number - 1])
        return self.generated.refusals[number - len(agreement.AGREEMENTS) - 1]

    @cached_property
    def _functions(self) -> dict[str, Any]:
        """The generated functions and the mapping's."""
        made: dict[str, Any] = {}
        exec(frontend.register_source(self.file, self.generated.text).code, made)
        functions = {k: v for k, v in made.items() if isinstance(v, FunctionType)}
        for name, function in self.generated.actions.items():
            functions[function].paper_step = MARK + name  # type: ignore[attr-defined]
        own = {
            k: v
            for module in BY_HAND
            for k, v in own_names(module).items()
            if not isinstance(v, FunctionType) or v.__module__ == module.__name__
        }
        for name in self.overrides:
            if name not in own:
                raise KeyError(f"the mapping has no function {name}")
        return functions | own | self.overrides

    def _fields(self) -> tuple[Field, ...]:
        """Return the fields of the abstract state, step annotations, and what is saved of the state before a step."""
        txns, nodes = self.configuration.txns, self.configuration.nodes

        def says(name: str, most: int, doc: str, *axes: int) -> Field:
            return Field(name, Int(0, most), Role.SCRATCH, axes, doc)

        def names(name: str, doc: str) -> Field:
            return Field(name, NodeId.of(nodes), Role.SCRATCH, (), doc)

        sets = (1 << nodes) - 1
        return (
            *fields_of(self),
            says("fault", 2**16 - 1, "what does not hold of the step; 0: nothing"),
            says("amiss", AGREEMENT_LIMIT, "what the states do not agree on, as `differs` counts it; 0: nothing"),
            says("action", 63, "the last abstract action it took; 0: none; up to its fault, if it has one"),
            names("action_p", "its process"),
            names("action_l", "its attempt's process"),
            says("action_e", 63, "its attempt's epoch"),
            says("action_q", sets, "its quorum"),
            says("action_h", 63, "its history"),
            says("was_active", 1, "of the process that takes the step: it was in an iteration"),
            says("was_phase", 3, "its phase"),
            says("was_stage", 4, "its stage"),
            says("was_promised", 255, "its f.p"),
            says("was_length", 255, "the length of its history"),
            says("was_pass", 255, "what it had delivered in the pass"),
            says("was_ready", 1, "it was ready"),
            says("was_committed", 255, "how much of its log was committed"),
            says("was_sent", 255, "messages in flight to the follower that the step is about"),
            says("was_log", 2 ** (txns + 1) - 1, "the transactions in its log"),
            says("was_acked", sets, "who had acknowledged"),
            says("was_acks", sets, "who had acknowledged each proposal of its log", txns),
        )

    @cached_property
    def program(self) -> Program:
        plain = Model(self.configuration).program
        namespace = plain.namespace
        functions = dict(self._functions)
        for name in functions.keys() & namespace.keys():
            if name not in STANDS_FOR and functions[name] is not namespace[name] and functions[name] != namespace[name]:
                raise ValueError(f"the mapping and the program both define {name}")
        schema = replace(plain.schema, fields=(*plain.schema.fields, *self._fields()))
        return replace(
            plain,
            schema=schema,
            extra={**plain.extra, **functions, **{new: namespace[old] for old, new in STANDS_FOR.items()}},
        )


def changed_by(action: AbstractAction) -> frozenset[Symbol]:
    """Return the symbols an action changes, and those that are fixed for a history when it is abcast."""
    placed = (prefix, epoch, counter) if abcast in action.updates else ()
    return frozenset({*action.updates, *placed})
