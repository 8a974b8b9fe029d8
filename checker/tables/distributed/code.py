"""Compile a model to machine code, with the kernel that tasks run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

from checker.explore import compiled
from checker.explore import kernel as explorer
from checker.explore.checkpoints.task import ExplorationTask
from checker.explore.compiled import I64, PTR, Compiled
from checker.explore.reduce import ample_kernel, observer_kernel
from checker.explore.reduce.ample import Narrowing
from checker.explore.reduce.deliveries import DeliveryModel
from checker.tables.distributed import kernel
from invariants import known_properties, property_named
from invariants.registry import STEP, Property
from zabspec.language.analysis.tree import TypedProgram
from zabspec.language.layout import derive
from zabspec.language.native import llvm_text
from zabspec.model import Configuration, Model


class OtherVersion(Exception):
    """The code that this process compiles differs from that of the request; the message is a sentence."""


COLUMNS: dict[str, tuple[Any, ...]] = {
    "columns": (None, PTR, I64, I64, PTR, PTR),
    "regrow": (None, PTR, I64, I64, PTR, I64, I64),
    "second_fingerprint": (I64, PTR),
}
OF_ONE_PROCESS = ("insert", "rehash")  # exports of explorers that insert successors into their own tables


class TaskCode(Compiled):
    """The common part of the code that tasks of every search run."""

    wide = False
    quick = False  # the work of a task is large, and there are many at once

    columns: Any
    regrow: Any
    second_fingerprint: Any

    def also_text(self) -> str:
        second = derive.hash_text(self.layout, "hash_second", 6) if self.wide else ""
        return "\n\n\n".join(text for text in (super().also_text(), second) if text)

    def also_key(self) -> tuple[object, ...]:
        return ("distributed", self.wide, *super().also_key())

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {**super().numbers, "WIDE": self.wide}

    def also_facts(self, typed: TypedProgram) -> dict[str, Any]:
        portable = llvm_text.emit_program(typed, self.layout, set(self.exports), False)
        return {**super().also_facts(typed), "digest": hashlib.sha256(portable.encode()).hexdigest()[:32]}

    @property
    def digest(self) -> str:
        """A digest of the code's behaviour, the same on every kind of machine."""
        found: str = self.code.facts["digest"]
        return found

    @property
    def of_steps(self) -> int:
        """The step properties, as a mask."""
        return sum(1 << k for k, p in enumerate(self.properties) if p.of == STEP)

    def begin(self, work: int) -> None:
        """Initialise the memory in which a task works, at this address."""

    def wanted_of(self, want: int) -> int:
        """Return the open premises that a state still shows once its ghosts are merged, one bit each."""
        return want


class Code(TaskCode):
    """The code of a search with fingerprints of 64 bits."""

    also_modules = (kernel,)
    exports = {name: of for name, of in compiled.EXPORTS.items() if name not in OF_ONE_PROCESS} | COLUMNS


class WideCode(Code):
    """The code of a search with fingerprints of 128 bits."""

    wide = True
    header = explorer.CANDIDATE + 8


class AmpleCode(TaskCode, Narrowing):
    """The code of a search with ample sets and observer classes."""

    also_modules = (ample_kernel, observer_kernel, kernel)
    exports = {name: of for name, of in Narrowing.exports.items() if name not in OF_ONE_PROCESS} | COLUMNS

    @property
    def digest(self) -> str:
        text = f"{super().digest} {json.dumps(self.code.facts['classes'], sort_keys=True)}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def merges(self) -> bool:
        """Whether states that differ only in ghosts are merged."""
        return self.classes.classes > 0

    def begin(self, work: int) -> None:
        self.tell(work, self.merges)

    def wanted_of(self, want: int) -> int:
        return want & self.kept_premises if self.merges else want


class WideAmpleCode(AmpleCode):
    """The code of a search with ample sets and fingerprints of 128 bits."""

    wide = True
    header = explorer.CANDIDATE + 8


def task_of(
    configuration: Configuration,
    properties: Sequence[Property],
    symmetry: bool,
    wide: bool,
    parts: int,
    every_step: bool = False,
) -> tuple[ExplorationTask, str]:
    """Return a task, with symmetry if that is requested and sound, and why it is not sound."""
    code, asymmetry = (WideCode if wide else Code).of(Model(configuration), properties, symmetry, every_step)
    names = tuple(p.name for p in properties)
    task = ExplorationTask(configuration, names, code.symmetry, wide, parts, code.digest, code.stuttering_steps)
    return task, asymmetry


def made_for(task: ExplorationTask) -> TaskCode:
    """Compile the code for a task, without checking its version."""
    known = known_properties(task.configuration.protocol)
    known = (*known, *(q for p in known for q in p.follows_from))
    properties = [property_named(name, known) for name in task.properties]
    how = task.reduction
    if how is None:
        kind = WideCode if task.wide else Code
        return kind(Model(task.configuration), properties, task.symmetry, bool(task.every_step))
    model = (DeliveryModel if how.deliveries else Model)(task.configuration)
    code = (WideAmpleCode if task.wide else AmpleCode)(model, properties, task.symmetry, how.wanted, how.merging)
    return code if how.ample else code.without_ample()


@cache
def code_for(question: ExplorationTask) -> TaskCode:
    """Return the code for a task, which is compiled once in a process.

    Raises:
        OtherVersion: this process has other sources than the one that made the task.
    """
    code = made_for(question)
    if code.digest != question.version:
        raise OtherVersion("another version of zabcheck sent this task")
    return code
