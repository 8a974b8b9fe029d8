"""Make the fields, messages and records of a protocol of its classes, in which an annotation is a kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType, UnionType
from typing import Any, Union, cast, get_args, get_origin

from zabspec.authoring.declaration import MOST_TICKS, AtMost, ConfigError, Held, OneOf, Parameter, Size
from zabspec.language.layout.kinds import Bool, Int, Kind, Message, NodeId, Record, Seq, SetOf
from zabspec.language.layout.schema import NODE, Field, Role
from zabspec.language.python.lang import Each, Fields, History, MessageName, Node, RecordName, SeqOf, Txn
from zabspec.language.python.meanings import is_enumeration, is_number, unimported

RANGE = "has no range: Annotated[int, Range(0, 3)]"
# What somebody means by an annotation that is none, by the type that it is of.
INSTEAD: Mapping[object, str] = {
    **dict.fromkeys((set, frozenset), "a set is set[Node], or of numbers from 0 on: set[Annotated[int, Range(0, 3)]]"),
    **dict.fromkeys((list, tuple, SeqOf), "a sequence is Annotated[SeqOf[Node], AtMost(3)]"),
    dict: "entries by a key are Each[Node, bool]",
    str: 'names are a class Phase(IntEnum), or Annotated[int, OneOf("IDLE", "BUSY")]',
    float: "a number is Annotated[int, Range(0, 3)]",
    **dict.fromkeys(
        (Union, UnionType), "Node is a process or NOBODY, and Annotated[int, Maybe(Range(0, 3))] a number or NOTHING"
    ),
}
OF_PROCESSES = (Role.PERSISTENT, Role.VOLATILE)


class Misdeclared(ValueError):
    """A class declares no kind.

    Attributes:
        what: where, as `misdeclared` takes it.
    """

    def __init__(self, what: tuple[str, ...], reason: str) -> None:
        super().__init__(reason)
        self.what = what


@dataclass(frozen=True)
class Annotations:
    """What annotations mean at a size.

    Attributes:
        size: the size.
        roles: the roles, by the names of their types.
    """

    size: Size
    roles: Mapping[str, str]

    def kind(self, meant: object) -> Kind | None:
        """Return the kind that an annotation means, evaluated; None if there is no such part at this size.

        Raises:
            ValueError: it means no kind.
        """
        size, inner = self.size, get_args(meant)
        if meant is bool:
            return Bool()
        if meant is History:
            return size.history
        if isinstance(meant, RecordName):
            return size.txn if meant is Txn else self.record(meant)
        if is_enumeration(meant):
            return OneOf(meant)
        if self.is_process(meant):
            return NodeId.of(size.nodes, self.role(meant))
        if get_origin(meant) is set:
            return self.set_of(inner[0])
        given = getattr(meant, "__metadata__", ())
        if not given:
            raise ValueError(RANGE) if meant is int else no_kind(meant)
        made = given[0](size) if callable(given[0]) else given[0]
        base = get_origin(inner[0]) or inner[0]
        if len(given) > 1:
            raise ValueError("means two kinds")
        if isinstance(made, AtMost) and base is SeqOf:
            (element,) = get_args(inner[0])
            most = made.most(size) if callable(made.most) else made.most
            return Seq(cast(Kind, self.kind(element)), most, made.widen, made.bag)
        plain = int if isinstance(made, Int) else None
        if made is not None and base is not plain and (base in (int, set, SeqOf) or made != self.kind(inner[0])):
            raise no_kind(inner[0])
        return cast(Kind, made)

    def set_of(self, meant: object) -> Kind | None:
        """Return the kind of a set whose members an annotation is of; None if there are none at this size.

        Raises:
            ValueError: it is of no processes, and of no numbers from 0 on.
        """
        if self.is_process(meant):
            return SetOf(self.size.nodes, nodes=True, role=self.role(meant))
        members = self.kind(meant)
        if members is None or (type(members) is Int and members.lo == 0 <= members.hi):
            return members and SetOf(members.hi + 1)
        raise no_kind(set)

    def is_process(self, meant: object) -> bool:
        """Return whether an annotation is `Node`, or the type of a role."""
        return meant is Node or getattr(meant, "__supertype__", None) is Node

    def role(self, meant: Any) -> str:
        """Return the role of a type; empty for `Node`.

        Raises:
            ValueError: it is of no role.
        """
        if meant is not Node and meant.__name__ not in self.roles:
            there = f"there are {', '.join(self.roles)}" if self.roles else "declare(..., roles={...}) declares them"
            raise ValueError(f"is no role; {there}")
        return "" if meant is Node else self.roles[meant.__name__]

    def entries(self, meant: object) -> int:
        """Return how many numbers from 0 on an annotation has.

        Raises:
            ValueError: it has no range from 0 on.
        """
        numbers = self.kind(meant)
        if not isinstance(numbers, Int) or numbers.lo:
            raise ValueError("has an entry for Node, a role, or numbers from 0 on, as Annotated[int, Range(0, 3)]")
        return numbers.hi + 1

    def record(self, known: RecordName) -> Record:
        """Return the record that a class declares."""
        return Record(known.name, cast(Mapping[str, Any], self.parts(known)), known.ordered)

    def parts(self, known: MessageName | RecordName) -> dict[str, Kind]:
        """Return the parts of a message or record.

        Raises:
            Misdeclared: its class declares something else.
        """
        body = known.body or {}
        for name, value in body.items():
            if not name.startswith("__"):
                said = f"{known.name}.{name} is {'a method' if callable(value) else 'a value'}"
                raise Misdeclared(("part", known.name, name), f"{said}: it has fields alone, as `{name}: bool`")
        made = {n: self.meaning(("part", known.name, n), t, known.names) for n, t in annotations_of(body).items()}
        return {name: kind for name, (_, kind) in made.items() if kind is not None}

    def meaning(
        self, what: tuple[str, ...], said: object, names: Mapping[str, Any], clock: bool = False
    ) -> tuple[list[str | int], Kind | None]:
        """Return what the entries of a field are for, roles (empty: any) and numbers of entries, and the kind of each.

        Raises:
            Misdeclared: an annotation means something else.
        """
        where = ".".join(what[1:])
        try:
            meant = eval(said, dict(names)) if isinstance(said, str) else said
            keys: list[str | int] = []
            while what[0] == "field" and get_origin(meant) is Each:
                key, meant = get_args(meant)
                keys.append(self.role(key) if self.is_process(key) else self.entries(key))
            return keys, Bool() if clock else self.kind(meant)
        except Misdeclared:
            raise
        except (NameError, AttributeError, TypeError, SyntaxError) as problem:
            lacks = unimported(problem.name or "") if isinstance(problem, NameError) else ""
            raise Misdeclared(what, lacks or f"{where}: {said} is no kind: {problem}") from None
        except (Exception, SystemExit) as problem:
            plain = isinstance(problem, ValueError | ConfigError)
            reason = f"{said} {problem}" if type(problem) is ValueError else str(problem)
            raise Misdeclared(what, f"{where}: {reason if plain else f'{type(problem).__name__}: {problem}'}") from None

    def fields(self, state: type[Fields]) -> Iterator[Field]:
        """Yield the fields of a class, its own before those that it inherits.

        Raises:
            Misdeclared: the class declares something else.
        """
        seen: set[str] = set()
        for known in state.__mro__[: state.__mro__.index(Fields)]:
            said = annotations_of(vars(known))
            for name, given in vars(known).items():
                if name.startswith("__") or name in seen:
                    continue
                seen.add(name)
                if isinstance(given, Parameter):
                    if not name.isupper():
                        raise Misdeclared(("field", name), f"{name} is read as a constant: call it {name.upper()}")
                    continue
                what = ("field", name)
                if not isinstance(given, Held) or name not in said:
                    one = f'`{name}: Each[Node, bool] = stored("what it is")`'
                    raise Misdeclared(what, f"{known.__name__}.{name} is no field, as {one} declares one")
                keys, kind = self.meaning(what, said[name], vars(known)["__names__"], given.clock)
                if kind is not None:
                    yield self.field(name, given, keys, kind)
            for name in said:
                if name not in seen and name.islower() and not name.endswith("_left") and name != "members":
                    raise Misdeclared(
                        ("field", name), f'{known.__name__}.{name} has no sentence: {name}: ... = stored("what it is")'
                    )

    def field(self, name: str, given: Held, keys: list[str | int], kind: Kind) -> Field:
        """Return a field.

        Raises:
            Misdeclared: its entries are for something else than its declaration says.
        """
        what = ("field", name)
        if given.role in OF_PROCESSES and not isinstance(next(iter(keys), 0), str):
            raise Misdeclared(what, f"{name} is a field of each process: Each[Node, ...], or Each[...] of a role")
        axes = tuple(NODE if isinstance(key, str) else key for key in keys)
        of = [key if isinstance(key, str) else "" for key in keys]
        try:
            most = given.most(self.size) if callable(given.most) else given.most
        except (Exception, SystemExit) as problem:
            raise Misdeclared(what, f"{name}: {type(problem).__name__}: {problem}") from None
        if most is not None and not (is_number(most) and 1 <= most <= MOST_TICKS):
            raise Misdeclared(what, f"{name} is set to 1 to {MOST_TICKS} ticks, not {most!r}")
        disk = given.disk(self.size) if callable(given.disk) else given.disk
        own = of[0] if given.role in OF_PROCESSES else ""
        if own:
            of[0] = ""
        return Field(
            name, Int(0, most or 0, given.widen) if given.clock else kind, given.role, axes, given.doc,
            observed=given.role is Role.GHOST, disk=disk, reading=given.reading, of=own, timer=given.timer,
            lasts=0 if given.clock else most or 0, lasts_widen="" if given.clock else given.widen, clock=given.clock,
            keys=tuple(of) if any(of) else (),
        )  # fmt: skip

    def messages(self, modules: Sequence[ModuleType]) -> list[Message]:
        """Return the messages that the classes of modules declare, in their order, each once.

        Raises:
            Misdeclared: a class declares something else.
        """
        there = [v for m in modules for v in vars(m).values() if isinstance(v, MessageName) and v.body is not None]
        found = {known.name: known for known in there}
        return [Message(known.name, self.parts(known), known.to) for known in found.values()]

    def types(self, modules: Sequence[ModuleType]) -> dict[str, Record | Seq]:
        """Return the records and sequences that modules name.

        Raises:
            Misdeclared: a class declares something else.
        """
        out: dict[str, Record | Seq] = {}
        for module in modules:
            for name, known in vars(module).items():
                if isinstance(known, RecordName) and known.body is not None:
                    out[name] = self.record(known)
                elif get_origin(getattr(known, "__origin__", None)) is SeqOf:
                    out[name] = cast(Seq, self.meaning(("constant", name), known, {})[1])
        return out


def no_kind(meant: object) -> ValueError:
    """Return the error for an annotation that is no kind, with the one that is meant, where that can be said."""
    instead = INSTEAD.get(get_origin(meant) or meant)
    return ValueError(f"is no kind; {instead}" if instead else "is no kind")


def annotations_of(body: Mapping[str, Any]) -> Mapping[str, object]:
    """Return the annotations in the body of a class."""
    return cast(Mapping[str, object], body.get("__annotations__", {}))
