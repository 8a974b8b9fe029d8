"""Find the shortest continuation from a place, with the compiled explorer started there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled, CompiledForPremises
from checker.explore.result import Limits
from checker.requests.base.watch import Watch
from traces.explain.names import counted
from zabspec.language.program import Program
from zabspec.language.python.reference import StateView
from zabspec.model import Configuration, Model

if TYPE_CHECKING:
    from invariants.registry import Property


@dataclass(frozen=True)
class Bounds:
    """The limits of searches, as `zabcheck` takes them.

    Attributes:
        threads: None for all cores.
        max_states, time_limit (seconds), memory_limit (bytes): None for no limit.
    """

    threads: int | None = None
    max_states: int | None = None
    time_limit: float | None = None
    memory_limit: int | None = None


@dataclass
class ContinuedProgram(Program):
    """A program whose runs begin in another state.

    Attributes:
        start: the bytes of that state.
    """

    start: bytes = b""

    @cached_property
    def starts(self) -> Mapping[bytes, int | None]:
        return {self.start: None}

    def initial(self) -> StateView:
        return StateView(self.layout, self.start)


class ContinuedModel(Model):
    """A model whose runs begin in another state; the machine code is the same.

    Args:
        configuration: of the model.
        start: the bytes of that state.
    """

    def __init__(self, configuration: Configuration, start: bytes) -> None:
        super().__init__(configuration)
        self.start = start

    @cached_property
    def program(self) -> Program:
        whole = Model(self.configuration).program
        same = {f.name: getattr(whole, f.name) for f in fields(Program)}
        return ContinuedProgram(**same, start=self.start)


def continued(
    model: ContinuedModel, p: Property, premise: bool, bounds: Bounds, watch: Watch
) -> tuple[tuple[int, ...] | None, str]:
    """Return the shortest continuation to a state that violates a property, or meets its premise.

    Else why there is none.

    Args:
        model: begins in the state to continue from.
        premise: whether to meet the premise.
        bounds: limits of the search.

    Raises:
        NoVerdict: states that were merged are not renamings of each other.
    """
    code, _ = (CompiledForPremises if premise else Compiled).of(model, [p], True)
    with watch.exploring() as progress:
        limits = Limits(None, bounds.max_states, bounds.time_limit, bounds.memory_limit)
        r = Explorer(code, bounds.threads or 0).run(limits, False, progress)
    if p.name in r.violations:
        return tuple(r.violations[p.name].schedule), ""
    what = f"reaches the premise of {p.name}" if premise else f"violates {p.name}"
    states = counted(r.distinct, "orbit" if code.symmetry else "state")
    if r.complete and not r.error:
        return None, f"no continuation {what}: all {states} that follow were explored"
    seen = f"{states}, to depth {r.expanded_levels}"
    return None, f"no run was found that {what}, but not everything was explored ({r.error or r.stopped}): {seen}"
