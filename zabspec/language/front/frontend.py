"""Read functions' source, check that it is in the subset, and type it: the front end.

What is outside the subset is rejected with file, line and reason. Functions of a protocol have more rules than those of
a world: they touch persistent and volatile fields only, of their own process only (the parameter after the state), and
never a ghost.

`source.py` finds the syntax of a function, `expressions.py` types expressions and places, `statements.py` the rest of a
function; here they meet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import FunctionType
from typing import Any

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.bag_order import LazyEffects, check_bags
from zabspec.language.analysis.intervals import Intervals
from zabspec.language.analysis.optional import check_optional, has_optional
from zabspec.language.analysis.scalarset import Sorts
from zabspec.language.analysis.structs import Struct
from zabspec.language.front.expressions import TYPES, kind_type
from zabspec.language.front.statements import FunctionTyper, Widened
from zabspec.language.layout.kinds import Kind, MessageUnion, SetOf
from zabspec.language.layout.place import is_own_file
from zabspec.language.layout.schema import Layout
from zabspec.language.layout.source import LanguageError, register_source
from zabspec.language.python.lang import NOBODY
from zabspec.language.python.meanings import is_enumeration

__all__ = ["FrontEnd", "LanguageError", "register_source"]


# The modules whose functions may access the places of a bag by number: the world, its engines and the language itself.
OF_THE_WORLD = (
    "zabspec.worlds.", "zabspec.simulator.", "zabspec.live.", "zabspec.language.", "zabspec.zookeeper.timed.",
    "checker.",
)  # fmt: skip

COUNTED = (-(1 << 31), 1 << 31)  # what the world passes: numbers of what it counts


class FrontEnd:
    """Types the functions of one program against one schema."""

    def __init__(
        self, layout: Layout, namespace: Mapping[str, Any], types: Mapping[str, Kind], handlers: Iterable[str]
    ) -> None:
        """Set up the typing of one program.

        Args:
            layout: the state's layout.
            namespace: every name a function may refer to.
            types: the record, sequence and message kinds by the names that annotations use.
            handlers: the names of the protocol's functions.
        """
        self.layout = layout
        self.namespace = namespace
        self.types = types
        self.handlers = frozenset(handlers)
        self.roles = layout.schema.roles.by_type if layout.schema.roles else {}  # by the names of their types
        self.declares = any(hasattr(value, "acts") for value in namespace.values())  # what the world provides
        self.program = t.TypedProgram()
        self.effects = LazyEffects(self.program, layout)
        self.writers: dict[str, bool] = {}  # for each function asked about whether it, or one that it calls, writes
        self.sets: dict[tuple[str, str], SetOf] = {}  # what local names for sets may hold, by function and name
        self.summed: set[str] = set()  # the functions of which the sums have been checked
        self.users: set[str] = set()  # those of them that are a user's
        self.entered: set[str] = set()  # roots, and what functions of this project call, found since
        self.intervals = Intervals(self.program.functions, self.users)
        self._busy: list[str] = []
        self.has_optional = has_optional((*(f.kind for f in layout.schema.fields), *types.values()))

    def type_of_annotation(self, name: str) -> t.AnyType | None:
        if name in TYPES:
            return TYPES[name]
        if name in self.roles:
            return t.INT
        if name == "Members":
            return t.SetType(SetOf(self.layout.schema.nodes, nodes=True))
        named = self.namespace.get(name)
        if is_enumeration(named):
            return t.INT
        if isinstance(named, type) and issubclass(named, Struct):
            return t.StructType(named)
        union = self.types.get("AnyMessage")
        if isinstance(union, MessageUnion) and any(m.name == name for m in union.messages):
            return t.MessageType(union, name)
        kind = self.types.get(name)
        return None if kind is None else kind_type(kind)

    def function(self, name: str) -> t.Function:
        """Return the typed form of a function, typing all it calls.

        Raises:
            LanguageError: it, or one it calls, is outside the language.
        """
        if not self._busy or is_own_file(self.namespace[self._busy[-1]].__code__.co_filename):
            self.entered.add(name)
        found = self.program.functions.get(name) or self.make(name)
        if not self._busy and self.declares:
            self.check_sums()
        return found

    def make(self, name: str) -> t.Function:
        """Type a function, and all it calls."""
        python = self.namespace.get(name)
        if not isinstance(python, FunctionType):
            raise LanguageError("<program>", 0, f"the program has no function {name!r}")
        worker = FunctionTyper(self, name, python)
        if name in self._busy:
            raise LanguageError(worker.file, worker.node.lineno, f"{worker.name} is recursive")
        self._busy.append(name)
        while True:
            try:
                result = worker.run()
                break
            except Widened:  # at most as often as a set has members
                worker = FunctionTyper(self, name, python)
        self._busy.pop()
        self.enter(result, python, worker.reads)
        if worker.lifted:
            Sorts(result, self.program, self.layout.schema, lambda _: "").infer()
        return result

    def enter(self, result: t.Function, python: FunctionType, reads: Collection[str]) -> None:
        """Check a typed function, and add it to the program.

        Args:
            result: the function.
            python: the function of the source that it is, or is a part of.
            reads: the fields that it reads.

        Raises:
            LanguageError: it depends on the order of a bag, or calculates with what may be NOTHING.
        """
        if python.__module__ is not None and not python.__module__.startswith(OF_THE_WORLD):  # None: derived text
            check_bags(result, self.effects, not is_own_file(python.__code__.co_filename))
        if result.optional is not None:
            of = self.effects.of(result)
            check_optional(result, self.program.functions, of.calculated(), of.gives)
        self.effects.known.pop(result.name, None)  # of a function that is typed once more
        self.program.functions[result.name] = result
        self.program.reads[result.name] = frozenset(reads)

    def check_sums(self) -> None:
        """Check that no sum or quotient in a user's function can leave 64 bits by the ranges of what it is made of.

        A function is checked for all that others call it with; if it was `entered`, for what the world passes.

        Raises:
            LanguageError: one can.
        """
        functions, processes = self.program.functions, (NOBODY, self.layout.schema.nodes - 1)
        new = [f for f in functions if f not in self.summed]
        self.summed.update(new)
        self.users.update(f for f in new if not self.is_own(f))
        self.intervals.rounds = 0
        entered = self.entered & self.users
        self.entered.clear()
        for name in [*sorted(entered), *(f for f in reversed(new) if f in self.users)]:  # callers behind what they call
            if name in entered or name not in self.intervals.known:
                of = functions[name]
                numbers = {p: processes if p in of.processes else COUNTED for p, kind in of.params if kind == t.INT}
                self.intervals.result(name, numbers)
        for (name, line), found in self.intervals.leaving.items():
            if name in self.users:
                said = f"{found}, which does not fit 64 bits: declare a smaller range"
                raise LanguageError(functions[name].file, line, said)

    def is_own(self, name: str) -> bool:
        """Return whether a function is of this project."""
        return is_own_file(self.python(name).__code__.co_filename)

    def python(self, name: str) -> FunctionType:
        """Return the function of the source that a function of the program is, or is a part of."""
        found = self.namespace[self.program.functions[name].within or name]
        assert isinstance(found, FunctionType)
        return found

    def site(self, site: t.Site) -> int:
        """Return the number of an error site, from 1."""
        self.program.sites.append(site)
        return len(self.program.sites)
