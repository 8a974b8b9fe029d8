"""A model in machine code, with the kernel that tasks run."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

from checker.distributed import kernel
from checker.explore import compiled
from checker.explore import kernel as explorer
from checker.explore.compiled import I64, PTR, Compiled
from invariants import properties_of, property_named
from invariants.registry import STEP, Property
from zabspec.language import derive, llvm_text
from zabspec.language.tree import TypedProgram
from zabspec.model import Configuration, Model

__all__ = ["Code", "ExplorationTask", "OtherVersion", "WideCode", "code_for"]


class OtherVersion(Exception):
    """What is compiled here is not what the question is about: a sentence."""


class Code(Compiled):
    """With fingerprints of 64 bits."""

    wide = False
    quick = False  # what a task does is large, and there are many at once
    also_modules = (kernel,)
    exports = {name: of for name, of in compiled.EXPORTS.items() if name not in ("insert", "rehash")} | {
        "columns": (None, PTR, I64, I64, I64, PTR, PTR),
        "regrow": (None, PTR, I64, I64, PTR, I64, I64),
        "second_fingerprint": (I64, PTR),
    }  # fmt: skip

    columns: Any
    regrow: Any
    second_fingerprint: Any

    def also_text(self) -> str:
        return derive.hash_text(self.layout, "hash_second", 6) if self.wide else ""

    def also_key(self) -> tuple[object, ...]:
        return ("distributed", self.wide, *super().also_key())

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {**super().numbers, "WIDE": self.wide}

    def also_facts(self, typed: TypedProgram) -> dict[str, Any]:
        portable = llvm_text.emit_program(typed, self.layout, set(self.exports), False)
        return {"digest": hashlib.sha256(portable.encode()).hexdigest()[:32]}

    @property
    def digest(self) -> str:
        """Of all that it does, the same on every kind of machine."""
        found: str = self.code.facts["digest"]
        return found

    @property
    def of_steps(self) -> int:
        """The properties of steps, as a mask."""
        return sum(1 << k for k, p in enumerate(self.properties) if p.of == STEP)


class WideCode(Code):
    """With fingerprints of 128 bits."""

    wide = True
    header = explorer.CANDIDATE + 8


@dataclasses.dataclass(frozen=True)
class ExplorationTask:
    """What is explored, and in how many parts: what a checkpoint answers.

    Attributes:
        configuration: protocol, sizes and budgets.
        properties: what is judged, by name, in the order of the bits of every mask.
        symmetry: whether renamings of a state count once.
        wide: whether fingerprints have 128 bits.
        parts: how many owners there are; a power of two.
        version: of the program, as `Code.digest` says it.
        every_step: whether stuttering receipts are steps like others, where there may be any; None: there are none, or
            it was not written down, as of old.
    """

    configuration: Configuration
    properties: tuple[str, ...]
    symmetry: bool
    wide: bool
    parts: int
    version: str
    every_step: bool | None = None

    def as_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "properties": list(self.properties)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ExplorationTask:
        """
        Raises:
            ValueError, TypeError, KeyError: this is no question, or not one of this version.
        """
        values = {**data, "configuration": Configuration(**data["configuration"])}
        return cls(**{**values, "properties": tuple(data["properties"])})

    @classmethod
    def of(
        cls,
        configuration: Configuration,
        properties: Sequence[Property],
        symmetry: bool,
        wide: bool,
        parts: int,
        every_step: bool = False,
    ) -> tuple[ExplorationTask, str]:
        """A question, with symmetry if that is asked for and sound; with why it is not sound."""
        code, asymmetry = (WideCode if wide else Code).of(Model(configuration), properties, symmetry, every_step)
        names = tuple(p.name for p in properties)
        return cls(configuration, names, code.symmetry, wide, parts, code.digest, code.stuttering_steps), asymmetry


@cache
def code_for(question: ExplorationTask) -> Code:
    """The code of a question: made once in a process.

    Raises:
        OtherVersion: this process has other texts than the one that asks.
    """
    kind = WideCode if question.wide else Code
    known = properties_of(question.configuration.protocol)
    properties = [property_named(name, known) for name in question.properties]
    code = kind(Model(question.configuration), properties, question.symmetry, bool(question.every_step))
    if code.digest != question.version:
        raise OtherVersion("another version of zabcheck asked this")
    return code
