"""Type expressions, and places in the state that can be read or written."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Mapping
from dataclasses import replace
from enum import IntEnum
from functools import reduce
from types import FunctionType
from typing import Any, Protocol

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.effects import Effects
from zabspec.language.analysis.optional import origins, passes_nothing
from zabspec.language.analysis.structs import Array, StructMember
from zabspec.language.front.comprehensions import (
    MEMBER_OF,
    NUMBER_OF,
    QUANTIFIERS,
    WITH_MEMBER,
    Inner,
    body_of,
    called,
    chosen_member,
    gone_through,
    load,
    placed,
    store,
    sure,
    written,
)
from zabspec.language.layout import wrapping
from zabspec.language.layout.bytecode import global_names
from zabspec.language.layout.diagnostics import place_at
from zabspec.language.layout.error_sites import ENVELOPE, NO_ENTRY, SHIFTED, TOO_WIDE, members_of
from zabspec.language.layout.kinds import MOST_MEMBERS, Bool, Int, Kind, MessageUnion, NodeId, Record, Seq, SetOf
from zabspec.language.layout.place import SourcePlace
from zabspec.language.layout.refusals import refusal
from zabspec.language.layout.schema import NODE, Field, Layout, Role
from zabspec.language.layout.source import LanguageError, annotated, definition, indexed, said_file
from zabspec.language.python import lang, memory
from zabspec.language.python.lang import MessageName
from zabspec.language.python.meanings import constant, is_enumeration, is_value, unimported
from zabspec.language.python.reference import BY_ZERO, NO_PROCESS
from zabspec.language.python.sentences import MARK
from zabspec.roles import Role as OfRole
from zabspec.typed import near

BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.BitOr: "|",
    ast.BitAnd: "&", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.Pow: "**",
}  # fmt: skip
COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}

TYPES: Mapping[str, t.AnyType] = {
    "State": t.STATE, "Node": t.INT, "int": t.INT, "bool": t.BOOL, "None": t.VOID, "Words": t.WORDS, "Bytes": t.BYTES,
}  # fmt: skip


def signature(function: FunctionType) -> tuple[tuple[t.AnyType, ...], t.AnyType]:
    """Return the types of a function's arguments, and of its result, by its annotations."""
    *given, returns = (TYPES[said] for said in function.__annotations__.values())
    return tuple(given), returns


# The kernel's operations on words: by name their argument types and result.
KERNEL = {name: signature(vars(module)[name]) for module in (wrapping, memory) for name in module.__all__}

OF_ROLES = ("any_of", "any_process", "is_a", "only")  # called in an expression
OWN_FIELDS = (Role.PERSISTENT, Role.VOLATILE)  # of its own process, which a handler writes
OF_ALL = (Role.ENVIRONMENT, Role.SHARED)  # what a handler reads of any process, or of none
AT_THE_BEGINNING = ("connect", "send", "send_to_leader", "send_to_follower")  # what a state that runs begin in may call

EMPTY = SetOf(1)  # the kind, by its identity, of `set()`, which is of any kind
SETS = {"|": "m in a or m in b", "&": "m in a and m in b", "-": "m in a and m not in b", "^": "(m in a) != (m in b)"}
# What to write instead of a function of Python.
INSTEAD = {
    "print": ": `zabcheck walk` shows every state", "random": ": a choice of any kind is any_of(...) or choose(...)",
    "time": ": declare a timer or a clock", "sorted": ": loop over the numbers in their order",
    "range": " outside of loops and tests: write for k in range(...), or x in range(...)",
    "int": ": write 1 if ... else 0", "bool": ": write ... != 0",
    "frozenset": ": write set() or {...}",
    "next": ": write min(... for ..., default=0), or any_of(s, {...}) for each",
}  # fmt: skip
TEST_KIND = "write if m.kind == ..., or a parameter of that kind"
METHODS = {
    "pop": ": pop is a statement of its own, x = s.queue[p].pop(0)",
    "union": ": write a | b", "intersection": ": write a & b", "difference": ": write a - b",
}  # fmt: skip
NOTED = "error.state"  # the parameter of a function without a state that may meet an error; no source can use it


def said(node: ast.AST) -> str:
    """Return what a sentence calls an expression: a name that is made here is of each member of something."""
    return "each of them" if isinstance(node, ast.Name) and "." in node.id else ast.unparse(node)


class Context(Protocol):
    """The program in which a function is typed."""

    layout: Layout
    namespace: Mapping[str, Any]
    types: Mapping[str, Kind]
    handlers: frozenset[str]
    declares: bool
    program: t.TypedProgram
    writers: dict[str, bool]
    roles: Mapping[str, OfRole]
    has_optional: bool
    sets: dict[tuple[str, str], SetOf]

    @property
    def effects(self) -> Mapping[str, Effects]:
        """Return the effects of the program's functions."""

    def type_of_annotation(self, name: str) -> t.AnyType | None:
        """Return the type that an annotation names, or None."""

    def function(self, name: str) -> t.Function:
        """Return the typed form of another function."""

    def enter(self, function: t.Function, python: FunctionType, reads: Collection[str]) -> None:
        """Check a typed function, and add it to the program."""

    def site(self, site: t.Site) -> int:
        """Return the number of an error site."""


class Expressions:
    """Types the expressions of one function."""

    def __init__(self, front: Context, name: str, python: FunctionType) -> None:
        self.front = front
        self.key = name  # in the program's namespace
        self.name = python.__name__
        self.python = python
        self.apart: Mapping[str, str] = getattr(python, "apart", {})  # names of its own module, by their keys
        self.node = definition(python)
        self.file = said_file(python.__code__.co_filename)
        self.locals: dict[str, t.AnyType] = {}
        self.params: list[tuple[str, t.AnyType]] = []
        self.is_handler = name in front.handlers
        self.is_kernel = not self.is_handler and works_on_words(python, self.node, front)
        # The roles of the fields it may write; None for zabcheck's own code, which is not checked.
        self.writes: Collection[Role] | None = getattr(
            python, "writes", (*OWN_FIELDS, Role.SHARED) if self.is_handler else None
        )
        self.surroundings = getattr(python, "surroundings", False)  # it is of the environment, which sees no ghosts
        self.begins = getattr(python, "begins", False)  # it sets the state that a run begins in
        self.needs_state = False  # it has no state of its own, and an error of it must be noted in one
        self.paper_step: str | None = getattr(python, "paper_step", None)
        self.processes: set[str] = set()  # the parameters annotated as processes, and "return"
        self.own: str | None = None
        self.acts = False  # it touches what is its own process's alone
        self.loops = 0
        self.reads: set[str] = set()
        self.returns: t.AnyType = t.VOID
        self.assigned: frozenset[str] | None = frozenset()  # names that have a value here; None: not reached
        self.kinds: dict[str, str] = {}  # which message each name, or place of the state, is known to be here
        self.relied: dict[str, ast.AST] = {}  # the places of which that was needed, where
        self.largest: dict[str, int] = {}  # in a handler, the bound of each loop's name
        self.sequences: dict[int, t.Expr] = {}  # by an index into a sequence, that sequence
        self.kept: list[t.Term] = []  # those indices: their identities stay theirs
        self.of_processes: set[str] = set(self.processes)  # names, and functions of choices, whose value is a process
        self.lifted = 0  # how many comprehensions became functions so far
        self.made = 0  # how many names of loops were made so far
        self.optional: dict[str, frozenset[str]] = {}  # names of numbers that may be NOTHING, with where they are from
        self.asks_optional = False  # it calculates with such a number, asks for its order, or gives it back

    # --- plumbing ----------------------------------------------------------------------------

    def fail(self, node: ast.AST, reason: str) -> LanguageError:
        line = getattr(node, "lineno", self.node.lineno)
        file = self.python.__code__.co_filename
        place = SourcePlace(file, line) if isinstance(node, ast.FunctionDef) else place_at(file, node)
        return LanguageError(self.file, line, reason, place if place.line else SourcePlace(file, line))

    def site(self, node: ast.AST, field: str, problem: str, widen: str = "") -> int:
        label = f"step {self.paper_step}" if self.paper_step else self.name
        return self.front.site(t.Site(self.file, getattr(node, "lineno", 0), label, field, problem, widen))

    def range_site(self, node: ast.AST, kind: Kind, field: str) -> int:
        """Return the number of the site of a value that may leave the range of a kind; 0 if none can."""
        if not isinstance(kind, Int) or isinstance(kind, Bool):
            return 0
        return self.site(node, field, f"would leave its range {kind.lo}..{kind.hi}", kind.widen)

    def annotation(self, node: ast.expr | None, what: str) -> t.AnyType:
        if node is None:
            raise self.fail(self.node, f"{what} of {self.name} has no type")
        text = annotated(node)
        found = self.front.type_of_annotation(text)
        if found is None:
            raise self.fail(node, f"{what} of {self.name} has type {text}, which the language does not have")
        return found

    # --- places ------------------------------------------------------------------------------

    def place(self, node: ast.expr, writing: bool = False) -> t.Memory:
        found = self.place_or_value(node)
        if isinstance(found, t.Load):
            found = found.place
        if isinstance(found, t.RecordField) and isinstance(found.value.type, t.RecordType):
            record, of = found.value.type.record, ast.unparse(node).removesuffix(f".{found.name}")
            parts = ", ".join(f"{name}={'...' if name == found.name else f'{of}.{name}'}" for name in record.fields)
            raise self.fail(node, f"a record changes as a whole: {of} = {record.name}({parts})")
        if not isinstance(found, t.Memory):
            raise self.fail(node, f"{ast.unparse(node)} is not a place in the state")
        if writing:
            field = self.front.layout.fields.get(found.field)
            root = found.base
            if isinstance(root.type, t.MessageType):
                raise self.fail(node, "a received message may not be changed")
            if field is not None and self.writes is not None and field.role not in self.writes:
                who = "a handler" if self.is_handler else f"{self.name}, as it is used,"
                instead = "; declare it with shared(...)" if self.is_handler and field.role is Role.ENVIRONMENT else ""
                raise self.fail(node, f"{who} may not write {field.role.value} field {field.name}{instead}")
            if field is not None and field.disk and self.surroundings:
                raise self.fail(node, f"{field.name} is on a disk, which only its process writes")
            if self.writes is not None:  # the world writes places that there are
                found.terms = [self.below_length(term, found.field, node) for term in found.terms]
        return found

    def below_length(self, term: t.Term, field: str, node: ast.expr) -> t.Term:
        """Return the index of a write to a sequence with a check that the sequence has that element."""
        sequence = self.sequences.get(id(term))
        if sequence is None:
            return term
        return t.Term(
            term.index, term.stride, term.bound, self.site(node, field, NO_ENTRY), bag=term.bag, length=sequence
        )

    def place_or_value(self, node: ast.expr) -> t.Expr:
        """Return a place in memory if the expression is one, else its value."""
        slot = self.slot_at(node)
        if slot is not None:
            return slot
        root, indices = indexed(node)
        if isinstance(root, ast.Attribute) and isinstance(root.value, ast.Name):
            base_type = self.locals.get(root.value.id)
            if base_type == t.STATE:
                return self.state_place(root, root.value.id, indices, node)
        if indices and isinstance(node, ast.Subscript):
            base = self.place_or_value(node.value)
            return self.index(base, node.slice, node)
        return self.expr(node)

    def state_place(self, root: ast.Attribute, state: str, indices: list[ast.expr], node: ast.expr) -> t.Expr:
        layout = self.front.layout
        constants = layout.schema.constants
        if root.attr in constants:
            if indices:
                raise self.fail(node, f"{root.attr} is a constant")
            return t.Const(t.INT, constants[root.attr])
        field = layout.fields.get(root.attr)
        if field is None:
            raise self.fail(node, f"the state has no field {root.attr}{near(root.attr, layout.fields)}")
        self.check_access(field, indices, node)
        self.reads.add(field.name)
        sizes = layout.axis_sizes(field)
        if len(indices) < len(sizes):
            raise self.fail(node, f"{field.name} takes {len(sizes)} indices, and {len(indices)} are given")
        offset, strides = layout.strides(field)
        terms = [
            t.Term(
                self.integer(i),
                stride,
                size,
                self.site(node, field.name, f"has no entry outside 0..{size - 1}"),
                a == NODE,
            )
            for i, stride, size, a in zip(indices[: len(sizes)], strides, sizes, field.axes, strict=True)
        ]
        base = t.Var(t.STATE, state)
        memory: t.Expr = t.Memory(kind_type(field.kind), base, offset, terms, field.kind, field.name, base)
        for extra in indices[len(sizes) :]:
            memory = self.index(memory, extra, node)
        return memory

    def check_access(self, field: Field, indices: list[ast.expr], node: ast.expr) -> None:
        if self.surroundings and field.role in (Role.GHOST, Role.NETWORK):
            raise self.fail(node, f"the environment may not read {field.role.value} field {field.name}")
        if not self.is_handler:
            return
        if field.role in OF_ALL:
            return
        if field.role not in OWN_FIELDS:
            raise self.fail(node, f"a handler may not read {field.role.value} field {field.name}")
        self.acts = True
        if NODE in field.axes and not (indices and isinstance(indices[0], ast.Name) and indices[0].id == self.own):
            if not indices:
                raise self.fail(node, f"{field.name} has a value for each process: write {field.name}[{self.own}]")
            own = f"{field.name}[{self.own}]" if self.own else f"that behind s, as in def f(s, p, k), {field.name}[p]"
            said = f"a handler touches its own process only: {own}"
            raise self.fail(node, f"{said}; send a message, or declare it with shared(...)")

    def index(self, base: t.Expr, index: ast.expr, node: ast.expr) -> t.Expr:
        if base.type in (t.WORDS, t.BYTES):
            return t.Builtin(t.INT, "get", [base, self.integer(index)])
        if isinstance(base.type, t.SeqType):
            return self.place_in(base, base.type.kind, self.integer(index), node)
        raise self.fail(node, f"a {base.type.name} has no index")

    def place_in(self, base: t.Expr, kind: Seq, index: t.Expr, node: ast.AST) -> t.Memory:
        """Return a place of a sequence."""
        label, held = base.field if isinstance(base, t.Memory) else "a sequence", kind_type(kind.element)
        sure = isinstance(index, t.Const) and 0 <= index.value < kind.capacity
        site = 0 if sure else self.site(node, label, f"has no place beyond {kind.capacity - 1}")
        term = t.Term(index, kind.element.size, kind.capacity, site, bag=base if kind.bag else None)
        self.sequences[id(term)] = base
        self.kept.append(term)
        if isinstance(base, t.Memory):
            terms, offset = [*base.terms, term], base.offset + kind.header
            return t.Memory(held, base.base, offset, terms, kind.element, base.field, base.state)
        return t.Memory(held, base, kind.header, [term], kind.element, "a sequence", self.state_in_scope())

    def state_in_scope(self) -> t.Expr:
        """Return the state in which errors are recorded: the function's own, or that of its caller."""
        for name, kind in self.params:
            if kind == t.STATE:
                return t.Var(t.STATE, name)
        self.needs_state = True
        return t.Var(t.STATE, NOTED)

    # --- members of structs of arrays: `run.place[p][t]`, and `run.txns.count` of a struct within another --------

    def slot_at(self, node: ast.expr) -> t.Slot | None:
        """Return the member of a struct that an expression names, or None.

        Raises:
            LanguageError: the struct has no such member, or it takes another number of indices.
        """
        node, indices = indexed(node)
        struct = self.struct_at(node.value) if isinstance(node, ast.Attribute) else None
        if not isinstance(node, ast.Attribute) or struct is None:
            return None
        assert isinstance(struct.type, t.StructType)
        declared = struct.type.struct
        member = declared.members.get(node.attr)
        if member is None:
            raise self.fail(node, f"{declared.__name__} has no {node.attr}")
        axes = len(member.axes) if isinstance(member, Array) else 0
        if len(indices) != axes:
            raise self.fail(
                node, f"{node.attr} of {declared.__name__} takes {axes} indices, and {len(indices)} are given"
            )
        kind = t.StructType(member.struct) if isinstance(member, StructMember) else t.INT
        return t.Slot(kind, struct, member, [self.integer(i) for i in indices])

    def struct_at(self, node: ast.expr) -> t.Expr | None:
        """Return the struct that an expression names (a parameter, a local name, or a part of another), or None."""
        if isinstance(node, ast.Name) and isinstance(self.locals.get(node.id), t.StructType):
            return self.name_value(node.id, node)
        if isinstance(node, ast.Attribute) and self.struct_at(node.value) is not None:
            slot = self.slot_at(node)
            return slot if slot is not None and isinstance(slot.type, t.StructType) else None
        return None

    # --- expressions -------------------------------------------------------------------------

    def integer(self, node: ast.expr) -> t.Expr:
        return self.as_integer(self.expr(node), node)

    def as_integer(self, value: t.Expr, node: ast.expr) -> t.Expr:
        if value.type != t.INT:
            raise self.fail(node, f"{said(node)} is a {value.type.name}, not a number")
        return value

    def truth(self, node: ast.expr) -> t.Expr:
        value = self.expr(node)
        if value.type != t.BOOL:
            many = isinstance(value.type, (t.SetType, t.SeqType))
            test = ": write len(...) > 0" if many else ": compare it" if value.type == t.INT else ""
            raise self.fail(node, f"{said(node)} is a {value.type.name}, not a truth value{test}")
        return value

    def coerce(self, value: t.Expr, wanted: t.AnyType, node: ast.AST, label: str = "a set") -> t.Expr:
        if value.type == wanted:
            return value
        if isinstance(wanted, t.MessageType) and isinstance(value.type, t.MessageType):
            if value.type.union == wanted.union:
                only = self.kind_known(value, node) if wanted.only else None
                if only == wanted.only:
                    return value
                if only is None:
                    reason = f"{said(node)} may be another message than {wanted.only} here: {TEST_KIND}"
                    raise self.fail(node, reason)
                raise self.fail(node, f"a message {only} is used where a {wanted.only} is expected")
        if isinstance(wanted, t.SetType) and isinstance(value.type, t.SetType):
            return self.as_set(value, wanted.kind, node, label)
        more = "; write its fields too, as in NAME(...)" if isinstance(value.type, t.NameType) else ""
        raise self.fail(node, f"a {value.type.name} is used where a {wanted.name} is expected{more}")

    def kind_known(self, message: t.Expr, node: ast.AST) -> str | None:
        """Return which message one is known to be here, or None."""
        assert isinstance(message.type, t.MessageType)
        if message.type.only is None and (place := ast.unparse(node)) in self.kinds:
            self.relied[place] = node
            return self.kinds[place]
        return message.type.only

    def expr(self, node: ast.expr) -> t.Expr:
        match node:
            case ast.Name(id=name):
                return self.name_value(name, node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript(value=ast.Name() as name, slice=ast.Constant(value=int() as k)) if isinstance(
                several := self.spelled(name), ast.Tuple
            ) and k < len(several.elts):
                return self.expr(several.elts[k])
            case ast.Subscript():
                return as_value(self.place_or_value(node))
            case ast.Constant(value=bool() as flag):
                return t.Const(t.BOOL, int(flag))
            case ast.Constant(value=int() as number):
                return self.constant(number, node)
            case ast.Compare():
                return self.compare(node)
            case ast.Call():
                return self.call(node)
            case ast.BinOp(op=op):
                return self.binary(type(op), self.expr(node.left), self.expr(node.right), node)
            case ast.UnaryOp(op=ast.USub()):
                inner = self.integer(node.operand)
                if isinstance(inner, t.Const):
                    return self.constant(-inner.value, node)
                self.used_as_number(inner)
                return t.Binary(t.INT, "-", t.Const(t.INT, 0), inner)
            case ast.UnaryOp(op=ast.Not()):
                return t.Not(t.BOOL, self.truth(node.operand))
            case ast.BoolOp(op=op):
                word, before, each = "and" if isinstance(op, ast.And) else "or", self.kinds, []
                for value in node.values:
                    each.append(self.truth(value))
                    self.kinds = self.kinds | self.kinds_if(value, word == "and")
                self.kinds = before
                return t.Logic(t.BOOL, word, each)
            case ast.IfExp():
                test = self.truth(node.test)  # first: what it says of messages is known on both sides
                then, other = self.alike(self.side(node, True), self.side(node, False), node)
                if then.type != other.type or not is_scalar(then.type):
                    raise self.fail(node, "both sides of `if ... else` must be values of one type")
                return t.Choice(then.type, test, then, other)
            case ast.SetComp():
                return self.set_of(node)
            case ast.Set():
                return self.set_literal(node)
        raise self.fail(node, refusal(node))

    def side(self, node: ast.IfExp, truth: bool) -> t.Expr:
        """Return one side of a conditional expression."""
        before, self.kinds = self.kinds, self.kinds | self.kinds_if(node.test, truth)
        value = self.expr(node.body if truth else node.orelse)
        self.kinds = before
        return value

    def kinds_if(self, test: ast.expr, truth: bool) -> dict[str, str]:
        """Return which message each name or place is known to be where a test, typed before, is true or false."""
        match test:
            case ast.Compare(ast.Attribute(message, "kind"), [op], [ast.Name(kind)]) if (
                isinstance(op, ast.Eq if truth else ast.NotEq)
                and not any(isinstance(part, ast.Call) for part in ast.walk(message))
                and isinstance(self.expr(message).type, t.MessageType)
                and kind not in self.locals
            ):
                return {ast.unparse(message): self.meant(kind).name}
            case ast.UnaryOp(ast.Not(), inner):
                return self.kinds_if(inner, not truth)
            case ast.BoolOp(op, values) if isinstance(op, ast.And if truth else ast.Or):
                return {name: kind for value in values for name, kind in self.kinds_if(value, truth).items()}
        return {}

    def length(self, of: ast.expr, node: ast.Call) -> t.Expr:
        """Return how many something has."""
        if isinstance(of, ast.Name) and isinstance(several := self.spelled(of), ast.Tuple):
            return self.constant(len(several.elts), node)
        value = self.expr(of)
        if isinstance(value.type, t.SetType):
            return t.SetSize(t.INT, value)
        if isinstance(value.type, t.SeqType):
            return t.SeqLength(t.INT, value)
        raise self.fail(node, f"a {value.type.name} has no length")

    def bound(self, e: t.Expr, node: ast.AST) -> int:
        """Return the largest value of a loop's bound in a handler, which must follow from the configuration."""
        match e:
            case t.Const():
                return e.value
            case t.Var(name=name) if name in self.largest:
                return self.largest[name]
            case t.SeqLength(seq=t.Expr(type=t.SeqType(kind=kind))):
                return kind.capacity
            case t.SetSize(value=t.Expr(type=t.SetType(kind=members))):
                return members.count
            case t.Load(place=t.Memory(kind=Int(hi=hi))):
                return hi
            case t.RecordField():
                return (1 << e.bits) - 1 + e.lo
            case t.Binary(op="+"):
                return self.bound(e.left, node) + self.bound(e.right, node)
            case t.Binary(op="&", right=t.Const(value=mask)) if mask >= 0:
                return mask
            case t.Binary(op="-", right=t.Const(value=less)):
                return self.bound(e.left, node) - less
            case t.Builtin(op="min" | "max"):
                return max(self.bound(a, node) for a in e.args)
        raise self.fail(node, "a loop's bound must follow from the configuration")

    # --- what subclasses do --------------------------------------------------------------------

    def block(self, body: list[ast.stmt]) -> list[t.Stmt]:
        """Return typed statements."""
        raise NotImplementedError

    def check_sentence(self, node: ast.expr) -> None:
        """Check the sentence of a False."""
        raise NotImplementedError

    # --- comprehensions ------------------------------------------------------------------------

    def lift(
        self, what: str, returns: t.AnyType, body: Inner, node: ast.expr, given: Mapping[str, t.Expr] | None = None
    ) -> t.Call:
        """Return the call of a function with this body, whose parameters are the names that it reads.

        So a loop may be where an expression is, and is evaluated where the expression is.

        Args:
            what: the construct, for messages.
            returns: the type of its result.
            body: the statements, and the names that they give a value.
            node: the expression that they stand for.
            given: further values, which the body reads by these names.
        """
        given = given or {}
        hidden = next((name for name in body.names if any(name == p for p, _ in self.params)), None)
        if hidden is not None:
            raise self.fail(node, f"{hidden} is a parameter: use another name in {what}")
        self.lifted += 1
        key, outer = f"{self.key}.{self.lifted}", {k: v for k, v in self.locals.items() if k not in body.names}
        outer |= {name: value.type for name, value in given.items()}
        kept = self.locals, self.assigned, self.optional, self.asks_optional, self.returns, self.reads, self.loops
        kinds, self.kinds = self.kinds, dict(self.kinds)
        self.locals, self.returns, self.reads, self.asks_optional, self.loops = dict(outer), returns, set(), False, 0
        if self.assigned is not None:
            self.assigned = (self.assigned - body.names) | given.keys()
        numbers = [n for n, kind in outer.items() if kind == t.INT and n not in self.processes]
        self.optional = {n: frozenset({n}) for n in numbers} if self.front.has_optional else {}
        first: list[t.Stmt] = []
        if isinstance(returns, t.SetType):
            self.locals[body.result] = returns
            first.append(t.Assign(node.lineno, body.result, t.Const(returns, 0)))
            self.assigned = self.assigned | {body.result} if self.assigned is not None else None
        typed = [*first, *self.block(body.statements)]
        inner, optional = {k: v for k, v in self.locals.items() if k not in outer}, self.optional
        asks, reads = self.asks_optional, self.reads
        self.locals, self.assigned, self.optional, self.asks_optional, self.returns, self.reads, self.loops = kept
        self.kinds = kinds
        self.reads |= reads
        types: dict[str, t.AnyType] = {NOTED: t.STATE, **dict(self.params), **outer}
        used = {e.name for e in t.parts(typed) if isinstance(e, t.Var)}
        params = [(name, kind) for name, kind in types.items() if name in used and name not in inner]
        params.sort(key=lambda p: p[1] != t.STATE)
        made = t.Function(
            key, self.file, node.lineno, params, returns, inner, typed, optional=optional if asks or optional else None,
            written=what, within=self.key,
        )  # fmt: skip
        self.front.enter(made, self.python, reads)
        args = [given.get(name, t.Var(kind, name)) for name, kind in params]
        for (name, _), value in zip(params, args, strict=True):
            if name in made.wants:
                self.used_as_number(value)
        return t.Call(returns, key, args)

    def apply(self, text: str, returns: t.AnyType, node: ast.AST, **given: t.Expr) -> t.Call:
        """Return what an expression of the language, which is written here, makes of values: each is evaluated once."""
        number = self.lifted + 1
        value = written(text, node, number)
        body = Inner(placed([ast.Return(value)], value), frozenset(), "")
        return self.lift(ast.unparse(node), returns, body, value, {f"{n}.{number}": e for n, e in given.items()})

    def quantified(self, node: ast.Call, which: str) -> t.Expr:
        """Return what `any`, `all`, `sum`, `min` or `max` makes of a comprehension, or of a sequence or a set."""
        given = node.args[0]
        if isinstance(given, (ast.ListComp, ast.SetComp)):
            raise self.fail(node, f"{which}(... for ...) is written without brackets")
        through = given if isinstance(given, ast.GeneratorExp) else gone_through(given)
        default = node.keywords[0].value if node.keywords else None
        least = which in ("min", "max")
        if least != bool(node.keywords) or any(k.arg != "default" for k in node.keywords) or len(node.keywords) > 1:
            raise self.fail(
                node, f"write {which}(..., default=0): there may be none" if least else f"write {which}(...)"
            )
        if default is not None and not isinstance(self.integer(default), (t.Const, t.Var)):
            raise self.fail(node, "default= is a constant or a local name")
        self.check_comprehension(through)
        body = body_of(which, through, self.lifted + 1, default)
        return self.lift(f"{which}(...)", t.BOOL if which in ("any", "all") else t.INT, body, node)

    def check_comprehension(self, node: ast.GeneratorExp | ast.SetComp) -> None:
        """Check the names of a comprehension.

        Raises:
            LanguageError: what it goes through first has a name that it gives another value.
        """
        names = [n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
        if len(set(names)) < len(names) or any(g.is_async for g in node.generators):
            raise self.fail(node, "a comprehension has a name of its own for each of its loops")
        for part in ast.walk(node.generators[0].iter):
            if isinstance(part, ast.Name) and part.id in names and part.id in self.locals:
                raise self.fail(part, f"{part.id} has another value in the comprehension: use another name in it")

    def set_of(self, node: ast.SetComp) -> t.Call:
        """Return the set that a comprehension makes: of processes, or of numbers."""
        kind = t.SetType(self.kind_of(node))
        return self.lift("a set comprehension", kind, body_of("set", node, self.lifted + 1), node)

    # --- sets ----------------------------------------------------------------------------------

    def set_literal(self, node: ast.Set) -> t.Expr:
        """Return the set of a few members: of processes if one of them is known to be one."""
        members, number = [self.integer(e) for e in node.elts], self.lifted + 1
        nodes = any(map(self.is_process, members))
        count = self.front.layout.schema.nodes if nodes else max(map(self.most, members)) + 1
        if any(isinstance(m, t.Const) and not 0 <= m.value < min(count, MOST_MEMBERS) for m in members):
            raise self.fail(node, f"a set {members_of(min(count, MOST_MEMBERS))}; x in (a, b) takes any numbers")
        statements: list[ast.stmt] = []
        result, what = f"set.{number}", ("a set", members_of(MOST_MEMBERS))
        for name in (f"x{k}" for k in range(len(members))):
            inside = written(f"{name} in every" if nodes else f"0 <= {name} and {name} < {MOST_MEMBERS}", node, number)
            item = called(WITH_MEMBER, load(result), load(f"{name}.{number}"))
            statements += [sure(inside, *what), store(result, item)]
        body = Inner(placed([*statements, ast.Return(load(result))], node), frozenset({result}), result)
        kind = t.SetType(SetOf(min(count, MOST_MEMBERS), nodes))
        given: dict[str, t.Expr] = {f"x{k}.{number}": value for k, value in enumerate(members)}
        given[f"every.{number}"] = t.Const(kind, kind.kind.hi)
        return self.lift(ast.unparse(node), kind, body, node, given)

    def most(self, member: t.Expr) -> int:
        """Return the largest value of a member that follows from the configuration; if none does, of any member."""
        try:
            return self.bound(member, self.node)
        except LanguageError:
            return MOST_MEMBERS - 1

    def is_process(self, value: t.Expr) -> bool:
        """Return whether a value is known to be a process where a set of it is made."""
        match value:
            case t.Var(name=name) | t.Call(function=name):
                functions = self.front.program.functions
                made = functions[name].processes if isinstance(value, t.Call) else ()
                return name in self.of_processes or name in self.processes or "return" in made
            case t.Load(place=t.Memory(kind=NodeId())) | t.OneOfRole() | t.OneOfSet():
                return True
            case t.RecordField(value=t.Expr(type=t.RecordType(record=record))):
                return isinstance(record.fields[value.name], NodeId)
            case t.Choice():
                return self.is_process(value.then) or self.is_process(value.other)
        return False

    def through_processes(self, through: ast.expr) -> bool:
        """Return whether a loop goes through processes: `range(s.NODES)` or `processes(...)`."""
        match through:
            case ast.Call(func=ast.Name(id="range"), args=[ast.Attribute(attr="NODES")], keywords=[]):
                return True
            case ast.Call(func=ast.Name(id="processes")):
                return self.is_of_language("processes")
        return False

    def joined(self, one: SetOf, other: SetOf, node: ast.AST) -> SetOf:
        """Return the kind of a set that may have the members of either of two."""
        if one is EMPTY or other is EMPTY:
            return other if one is EMPTY else one
        if one.nodes != other.nodes:
            raise self.fail(node, "a set of processes and a set of numbers are two kinds of set")
        return one if one.count >= other.count else other

    def alike(self, left: t.Expr, right: t.Expr, node: ast.AST) -> tuple[t.Expr, t.Expr]:
        """Return two values; if they are sets, of one kind."""
        if isinstance(left.type, t.SetType) and isinstance(right.type, t.SetType) and left.type != right.type:
            kind = self.joined(left.type.kind, right.type.kind, node)
            return self.as_set(left, kind, node), self.as_set(right, kind, node)
        return left, right

    def as_set(self, value: t.Expr, kind: SetOf, node: ast.AST, label: str = "a set") -> t.Expr:
        """Return a set as one of another kind: a member that this kind cannot have is a run-time error."""
        assert isinstance(value.type, t.SetType)
        wanted = t.SetType(kind)
        if value.type == wanted:
            return value
        if value.type.kind is EMPTY:
            return t.Const(wanted, 0)
        self.joined(value.type.kind, kind, node)
        return self.gathered("m in a", kind, node, label if kind.count < value.type.kind.count else "", a=value)

    def gathered(self, test: str, kind: SetOf, node: ast.AST, label: str = "", **given: t.Expr) -> t.Expr:
        """Return the set of the members that pass a test; with a label it is an error if `a` has more of them."""
        number = self.lifted + 1
        members = written(f"{{m for m in range({kind.count}) if {test}}}", node, number)
        assert isinstance(members, ast.SetComp)
        body = body_of("set", members, number)
        if label:
            kept = sure(written("len(set) == len(a)", node, number), label, members_of(kind.count))
            body.statements[-1:-1] = placed([kept], members)
        return self.lift("a set", t.SetType(kind), body, members, {f"{n}.{number}": v for n, v in given.items()})

    def of_sets(self, symbol: str, left: t.Expr, right: t.Expr, node: ast.AST) -> t.Expr:
        """Return what an operator makes of two sets."""
        assert isinstance(left.type, t.SetType)
        assert isinstance(right.type, t.SetType)
        kind = self.joined(left.type.kind, right.type.kind, node)
        if symbol in SETS:
            return self.gathered(SETS[symbol], kind, node, a=left, b=right)
        if symbol in (">", ">="):
            left, right, symbol = right, left, symbol.replace(">", "<")
        smaller = " and len(a) < len(b)" if symbol == "<" else ""
        return self.apply(f"all(m in b for m in a){smaller}", t.BOOL, node, a=left, b=right)

    def kind_of(self, node: ast.SetComp) -> SetOf:
        """Return the kind of the set that a comprehension makes."""
        self.check_comprehension(node)
        gathered = node.elt.id if isinstance(node.elt, ast.Name) else ""
        through = [g.iter for g in node.generators if ast.unparse(g.target) == gathered]
        if not through:
            test = ast.Compare(node.elt, [ast.Eq()], [load("k")])
            there = ast.unparse(ast.GeneratorExp(test, node.generators))
            said = f"{{k for k in range(...) if any{there}}}"
            raise self.fail(node, f"a set comprehension gathers what one of its loops goes through: write {said}")
        return self.kind_through(through[0])

    def kind_through(self, through: ast.expr) -> SetOf:
        """Return the kind of a set of what a loop goes through."""
        through = self.spelled(through)
        nodes = self.front.layout.schema.nodes
        match through:
            case _ if self.through_processes(through):
                return SetOf(nodes, nodes=True)
            case ast.Call(func=ast.Name(id="range"), args=[*_, most], keywords=[]):
                count = self.bound(self.integer(most), through)
                if not 1 <= count <= MOST_MEMBERS:
                    raise self.fail(through, f"a set has members 0..{MOST_MEMBERS - 1}")
                return SetOf(count)
        found = self.expr(through).type
        if isinstance(found, t.SeqType) and isinstance(found.kind.element, Int):
            element = found.kind.element
            if isinstance(element, NodeId):
                said = f"write {{q for q in processes(s) if q in {ast.unparse(through)}}}"
                raise self.fail(through, f"a sequence of processes may have NOBODY: {said}")
            if element.lo < 0 or element.hi >= MOST_MEMBERS:
                raise self.fail(through, f"a set {members_of(MOST_MEMBERS)}: there are {element.lo}..{element.hi}")
            return SetOf(element.hi + 1)
        if not isinstance(found, t.SetType):
            said = "range(bound), processes(s), a set, or a sequence of numbers"
            raise self.fail(through, f"a set comprehension goes through {said}")
        return found.kind

    # --- roles -------------------------------------------------------------------------------

    def meant(self, name: str) -> Any:
        """Return what a global name means: a function, a constant, a message or a record; None if it means none."""
        return self.front.namespace.get(self.apart.get(name, name), self.front.types.get(name))

    def is_of_language(self, name: str) -> bool:
        """Return whether a name means the language's word, which a source imports; a source may redefine it."""
        given = self.meant(name)
        return isinstance(given, FunctionType) and given.__module__ == lang.__name__

    def role(self, node: ast.Call, at: int) -> OfRole:
        """Return the role that an argument of a call names.

        Raises:
            LanguageError: it names none.
        """
        given = node.args[at]
        known = self.front.roles
        if not isinstance(given, ast.Name) or given.id not in known:
            there = f"there are {', '.join(known)}" if known else "this protocol declares none: roles={...}"
            raise self.fail(node, f"{ast.unparse(given)} is not a role; {there}")
        return known[given.id]

    def about_roles(self, node: ast.Call, name: str, takes: str, least: int, most: int) -> None:
        """Check the arguments of a call about roles: the state, and `least` to `most` of them in all."""
        state = node.args[0] if node.args else None
        given = isinstance(state, ast.Name) and self.locals.get(state.id) == t.STATE
        if not given or not least <= len(node.args) <= most or node.keywords:
            raise self.fail(node, f"{name} takes {takes}")

    def processes_of(self, node: ast.Call) -> tuple[t.Const, t.Const]:
        """Return the first process of `processes(s)` or `processes(s, Server)`, and the one after the last."""
        self.about_roles(node, "processes", "the state, and a role", 1, 2)
        if len(node.args) == 1:
            return t.Const(t.INT, 0), t.Const(t.INT, self.front.layout.schema.nodes)
        role = self.role(node, 1)
        return t.Const(t.INT, role.first), t.Const(t.INT, role.end)

    def is_a(self, node: ast.Call) -> t.Expr:
        """Return the test whether a process is of a role."""
        self.about_roles(node, "is_a", "the state, a process and a role", 3, 3)
        if any(isinstance(part, ast.Call) for part in ast.walk(node.args[1])):  # it would be called twice
            raise self.fail(node, "is_a takes a process that has a name: q = ..., then is_a(s, q, ...)")
        role, process = self.role(node, 2), self.integer(node.args[1])
        first, last = t.Const(t.INT, role.first), t.Const(t.INT, role.end - 1)
        parts: list[t.Expr] = [t.Compare(t.BOOL, ">=", process, first), t.Compare(t.BOOL, "<=", process, last)]
        return t.InRole(t.BOOL, "and", parts, process)

    def one_of(self, node: ast.Call, name: str) -> t.Expr:
        """Return a chosen process, of a role or of all (`any_of`, `any_process`), or a role's only one (`only`)."""
        match node.args:
            case [state, ast.Call(func=ast.Name(id="processes"), args=[_, *whose])] if name == "any_of":
                name = name if whose else "any_process"
                node = ast.copy_location(ast.Call(node.func, [state, *whose], []), node)
        if name == "any_process":
            self.about_roles(node, name, "the state", 1, 1)
            first, count = 0, self.front.layout.schema.nodes
        else:
            self.about_roles(
                node, name, "the state and a role, or a set" if name == "any_of" else "the state and a role", 2, 2
            )
            if name == "any_of" and not (isinstance(node.args[1], ast.Name) and node.args[1].id in self.front.roles):
                return self.one_of_set(node)
            role = self.role(node, 1)
            first, count = role.first, role.count
            if name == "only" and count != 1:
                said = f"only(s, {node.args[1].id}) needs a role with one process"  # type: ignore[attr-defined]
                raise self.fail(node, f"{said}, and --{role.name.replace('_', '-')} is {count}")
        which: t.Expr = t.Const(t.INT, 0)
        if count > 1:
            call = ast.Call(ast.Name("choose"), [node.args[0], ast.Constant(count)], [])
            which = self.call_function("choose", ast.fix_missing_locations(ast.copy_location(call, node)))
        return t.OneOfRole(t.INT, "+", t.Const(t.INT, first), which)

    def one_of_set(self, node: ast.Call) -> t.Expr:
        """Return a chosen member of a set."""
        state, given = node.args
        match given:
            case ast.Set(elts=[ast.Constant(value=bool(a)), ast.Constant(value=bool(b))]) if a != b:
                which = ast.Call(ast.Name("choose", ast.Load()), [state, ast.Constant(2)], [])
                made: ast.expr = ast.Compare(which, [ast.Eq()], [ast.Constant(1)])
                return self.expr(ast.fix_missing_locations(ast.copy_location(made, node)))
            case ast.Call(func=ast.Name(id="range"), args=[*begin, stop], keywords=[]) if len(begin) < 2:
                low = begin[0] if begin else ast.Constant(0)
                if any(isinstance(part, ast.Call) for part in ast.walk(low)):  # it would be called twice
                    raise self.fail(node, f"any_of takes a range from a number that has a name: k = {ast.unparse(low)}")
                which = ast.Call(ast.Name("choose", ast.Load()), [state, ast.BinOp(stop, ast.Sub(), low)], [])
                made = ast.BinOp(low, ast.Add(), which)
                return self.expr(ast.fix_missing_locations(ast.copy_location(made, node)))
        members = self.expr(given)
        if not isinstance(members.type, t.SetType):
            raise self.fail(node, f"any_of takes a role, a set or a range, and {ast.unparse(given)} is none of them")
        body = chosen_member(state, self.lifted + 1, members.type.kind, node)
        chosen = self.lift("any_of(...)", t.INT, body, node, {body.result: members})
        if members.type.kind.nodes:
            self.of_processes.add(chosen.function)
        return chosen

    def member(self, members: t.Expr, which: t.Expr) -> t.OneOfSet:
        """Return the member of a set with `which` members before it; if there are fewer, the last process."""
        count = self.front.layout.schema.nodes
        found: t.Expr = t.Const(t.INT, count - 1)
        has: list[t.Expr] = [t.SetHas(t.BOOL, members, t.Const(t.INT, p)) for p in range(count)]
        for p in reversed(range(count)):
            before: t.Expr = t.Const(t.INT, 0)
            for other in has[:p]:
                one = t.Choice(t.INT, other, t.Const(t.INT, 1), t.Const(t.INT, 0))
                before = t.Binary(t.INT, "+", before, one)
            test = t.Logic(t.BOOL, "and", [has[p], t.Compare(t.BOOL, "==", before, which)])
            found = t.Choice(t.INT, test, t.Const(t.INT, p), found)
        assert isinstance(found, t.Choice)
        return t.OneOfSet(t.INT, found.test, found.then, found.other, members, which)

    def is_quorum(self, node: ast.Call) -> t.Expr:
        """Return the test whether a set of processes is a quorum: by counting, or by the table of a quorum system."""
        roles = self.front.roles
        if roles and len(node.args) == 2:
            said = f"with roles give the role: is_quorum(s, {ast.unparse(node.args[1])}, {next(iter(roles))})"
            raise self.fail(node, f"is_quorum takes a third argument here: a majority {said}")
        if len(node.args) == 3 and not (isinstance(node.args[2], ast.Name) and node.args[2].id in roles):
            return self.is_quorum_of(node)
        if len(node.args) != (3 if roles else 2) or node.keywords or self.expr(node.args[0]).type != t.STATE:
            raise self.fail(node, "is_quorum takes the state and a set of processes")
        members, system = node.args[1], self.front.layout.schema.quorums
        if system is None and isinstance(members, ast.SetComp) and self.kind_of(members).nodes:
            if len(members.generators) == 1:  # each once: they need not be gathered to be counted
                one = ast.copy_location(ast.Constant(1), members.elt)
                count = ast.copy_location(ast.GeneratorExp(one, members.generators), members)
                counted = ast.copy_location(called("sum", count), node)
                return self.is_majority(self.quantified(counted, "sum"), node)
        value = self.expr(members)
        mask = self.writes is None and value.type == t.INT  # of the world, in which masks are numbers
        if not mask and not (isinstance(value.type, t.SetType) and value.type.kind.nodes):
            raise self.fail(node, f"is_quorum takes a set of processes, and {ast.unparse(members)} is not")
        if system is not None:
            return t.IsQuorum(t.BOOL, value)
        size = t.Builtin(t.INT, "count_bits", [value]) if mask else t.SetSize(t.INT, value)
        return self.is_majority(size, node)

    def is_quorum_of(self, node: ast.Call) -> t.Expr:
        """Return the test whether more than half of a set of processes is in another set."""
        members, of = node.args[1:]
        if node.keywords or self.expr(node.args[0]).type != t.STATE:
            raise self.fail(node, "is_quorum takes the state, a set of processes, and the set or role that counts")
        if self.front.layout.schema.quorums is not None:
            raise self.fail(node, "--quorums defines quorums of all processes: is_quorum of a set counts majorities")
        whole = self.expr(of)
        value = self.expr(members)
        for part, known in ((members, value), (of, whole)):
            if not (isinstance(known.type, t.SetType) and known.type.kind.nodes):
                said = "a role or a set of processes, and" if part is of else "a set of processes, and"
                raise self.fail(node, f"is_quorum takes {said} {ast.unparse(part)} is not")
        return self.apply("sum(2 for p in members if p in of) > len(of)", t.BOOL, node, members=value, of=whole)

    def is_majority(self, size: t.Expr, node: ast.Call) -> t.Expr:
        """Return the test whether a number of processes is a majority: of the model, or of a number in the state."""
        if len(node.args) == 3:
            return self.comparison(">=", size, t.Const(t.INT, self.role(node, 2).majority), node)
        state = node.args[0]
        assert isinstance(state, ast.Name)
        most = as_value(self.state_place(ast.Attribute(state, "MAJORITY"), state.id, [], node))
        return self.comparison(">=", size, most, node)

    def constant(self, number: int, node: ast.AST) -> t.Const:
        if not -(1 << 63) <= number < 1 << 63:
            raise self.fail(node, f"{number} does not fit 64 bits")
        return t.Const(t.INT, number)

    def name_value(self, name: str, node: ast.expr) -> t.Expr:
        if name in self.locals:
            known = self.assigned is None or name in self.assigned
            if not known and not any(name == p for p, _ in self.params):
                raise self.fail(node, f"{name} cannot have a value here")
            kind = self.locals[name]
            if isinstance(kind, t.MessageType):
                kind = replace(kind, only=self.kinds.get(name))  # as far as it is known here
            return t.Var(kind, name)
        if name in self.python.__code__.co_varnames:
            raise self.fail(node, f"{name} cannot have a value here: it is given one later")
        value = self.meant(name)
        number = constant(value)
        if isinstance(number, bool):
            return t.Const(t.BOOL, int(number))
        if number is not None:
            return self.constant(number, node)
        if isinstance(value, MessageName):
            return t.Const(t.NameType(), self.tag(value.name, node))
        there = self.python.__globals__.get(name)
        if isinstance(value, (tuple, range)):
            loops = f"loop over it or enumerate({name})"
            raise self.fail(node, f"{name} is several values: {loops}, test x in {name}, or name one, {name}[0]")
        if is_enumeration(value):
            raise self.fail(node, f"{name} is an enumeration: name a member; its numbers are range({len(value)})")
        if name not in self.front.namespace and (is_value(there) or is_enumeration(there)):  # of an imported function
            raise self.fail(node, f"{name} is not imported where {self.name} is: import it there too")
        if isinstance(there, type) and issubclass(there, IntEnum) and not is_enumeration(there):
            raise self.fail(node, f"{name} is no plain IntEnum: a member has behaviour or a meaning of its own")
        layout = self.front.layout
        own = name in layout.fields or name in layout.schema.constants
        more = f"; did you mean s.{name}?" if own else near(name, self.locals)
        raise self.fail(node, f"{name} is neither a local name nor a constant{more}")

    def tag(self, name: str, node: ast.AST) -> int:
        union = self.front.types["AnyMessage"]
        assert isinstance(union, MessageUnion)
        try:
            return union.tag(name)
        except KeyError:
            raise self.fail(node, f"the schema declares no message {name}") from None

    def attribute(self, node: ast.Attribute) -> t.Expr:
        slot = self.slot_at(node)
        if slot is not None:
            return slot
        if isinstance(node.value, ast.Name) and self.locals.get(node.value.id) == t.STATE:
            return as_value(self.place_or_value(node))
        member = self.front.namespace.get(ast.unparse(node)) if isinstance(node.value, ast.Name) else None
        if isinstance(node.value, ast.Name) and node.value.id not in self.locals and isinstance(member, int):
            return self.constant(member, node)  # of an enumeration
        value = self.expr(node.value)
        if isinstance(value.type, t.RecordType):
            record = value.type.record
            if node.attr not in record.fields:
                raise self.fail(node, f"{record.name} has no field {node.attr}")
            k = record.fields[node.attr]
            return t.RecordField(kind_type(k), value, node.attr, record.shift(node.attr), k.bits, k.lo)
        if isinstance(value.type, t.MessageType):
            if node.attr == "kind":
                return t.MessageKind(t.NameType(), value)
            if node.attr in value.type.union.envelope:
                return self.envelope(node, value, value.type.union)
            only = self.kind_known(value, node.value)
            if only is None:
                known = f"which message {said(node.value)} is must be known before its {node.attr} is read"
                raise self.fail(node, f"{known}: {TEST_KIND}")
            message = value.type.union.named(only)
            if node.attr not in message.fields:
                raise self.fail(node, f"{message.name} has no field {node.attr}")
            places = value.type.union.places[value.type.union.tag(only) - 1]
            return as_value(self.inside(value, *places[node.attr]))
        raise self.fail(node, f"a {value.type.name} has no field {node.attr}")

    def envelope(self, node: ast.Attribute, value: t.Expr, union: MessageUnion) -> t.Expr:
        """Return a field of a message's envelope, which the world writes on every message."""
        if self.is_handler:
            raise self.fail(node, f"a handler may not read {node.attr}, which is on the envelope")
        if node.attr == "ahead" and "in_line" in self.front.layout.fields:
            self.reads.add("in_line")  # a place in line follows from the line: it is another when one ahead is gone
        offset, kind, name = union.envelope_places[node.attr]
        return as_value(self.inside(value, offset, kind, f"{ENVELOPE}{name}"))

    def inside(self, value: t.Expr, offset: int, kind: Kind, label: str) -> t.Memory:
        """Return a part of something that lies in memory."""
        if isinstance(value, t.Memory):
            at = value.offset + offset
            return t.Memory(kind_type(kind), value.base, at, value.terms, kind, label, value.state)
        return t.Memory(kind_type(kind), value, offset, [], kind, label, self.state_in_scope())

    def used_as_number(self, *values: t.Expr) -> None:
        """Note whether values that are calculated with, or ordered, may be NOTHING."""
        self.asks_optional |= any(self.origins(value) for value in values)

    def origins(self, value: t.Expr) -> frozenset[str]:
        """Return the origins of a number that may be NOTHING; empty if it is no such number."""
        return origins(value, self.optional, self.front.program.functions)

    def binary(self, op: type[ast.operator], left: t.Expr, right: t.Expr, node: ast.AST) -> t.Expr:
        symbol = BINARY.get(op)
        if symbol is None:
            raise self.fail(node, refusal(op()))
        if left.type != t.INT or right.type != t.INT:
            if isinstance(left.type, t.SetType) and isinstance(right.type, t.SetType) and symbol in SETS:
                return self.of_sets(symbol, left, right, node)
            more = "; a set changes by add and discard, and | joins two" if isinstance(left.type, t.SetType) else ""
            more = "; of a truth value write 1 if ... else 0" if t.BOOL in (left.type, right.type) else more
            raise self.fail(node, f"{symbol} takes integers{', or sets' if symbol in SETS else more}")
        self.used_as_number(left, right)
        if isinstance(left, t.Const) and isinstance(right, t.Const):
            if symbol in ("**", "<<", ">>") and not 0 <= right.value < 64:
                raise self.fail(node, f"{symbol} takes 0..63 on its right")
            if symbol in ("//", "%") and right.value == 0:
                raise self.fail(node, "division by zero")
            return self.constant(int(eval(f"({left.value}) {symbol} ({right.value})", {})), node)
        if symbol == "**":
            raise self.fail(node, "** takes constants only")
        divides = symbol in ("//", "%")
        if divides and not (isinstance(right, t.Const) and right.value > 0) and self.is_handler:
            raise self.fail(node, f"{symbol} takes a positive constant divisor")
        if divides and isinstance(right, t.Const) and right.value == 0:
            raise self.fail(node, "division by zero")
        sure = isinstance(right, t.Const) if divides else symbol not in ("*", "<<", ">>")
        if self.is_kernel or sure:
            return t.Binary(t.INT, symbol, left, right)
        site = self.site(node, "an integer", BY_ZERO if divides else TOO_WIDE if symbol == "*" else SHIFTED)
        return t.Binary(t.INT, symbol, left, right, site, self.state_in_scope())

    def compare(self, node: ast.Compare) -> t.Expr:
        parts: list[t.Expr] = []
        left_node = node.left
        for middle in node.comparators[:-1]:
            if any(isinstance(part, ast.Call) for part in ast.walk(middle)):
                raise self.fail(node, "the middle of a chained comparison may not call a function")
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, (ast.In, ast.NotIn)):
                has = self.is_member(left_node, right_node)
                parts.append(t.Not(t.BOOL, has) if isinstance(op, ast.NotIn) else has)
            elif type(op) in COMPARE:
                parts.append(self.comparison(COMPARE[type(op)], self.expr(left_node), self.expr(right_node), node))
            else:
                raise self.fail(node, refusal(op))
            left_node = right_node
        return parts[0] if len(parts) == 1 else t.Logic(t.BOOL, "and", parts)

    def spelled(self, node: ast.expr) -> ast.expr:
        """Return what a constant of several values stands for: `(a, b)` or `range(a, b)`; else the expression."""
        value = self.meant(node.id) if isinstance(node, ast.Name) and node.id not in self.locals else None
        if isinstance(value, range) and value.step == 1:
            made: ast.expr = called("range", ast.Constant(value.start), ast.Constant(value.stop))
        elif isinstance(value, (tuple, range)):
            made = ast.Tuple([ast.Constant(constant(v)) for v in value], ast.Load())
        else:
            return node
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def is_member(self, item: ast.expr, container: ast.expr) -> t.Expr:
        """Return the test whether something is in a set, in a sequence, or one of a few values."""
        value, container = self.expr(item), self.spelled(container)
        if isinstance(container, ast.Call) and isinstance(container.func, ast.Name) and container.func.id == "range":
            bounds = container.args if len(container.args) > 1 else [ast.Constant(0), *container.args]
            if len(bounds) != 2:
                raise self.fail(container, "range takes a bound, or a start and a bound")
            low, high = map(self.integer, bounds)
            there_at_all = isinstance(low, t.Const) and low.value >= 0 and self.front.has_optional
            text = f"{'x != -1 and ' if there_at_all else ''}low <= x and x < high"
            return self.apply(text, t.BOOL, item, x=value, low=low, high=high)
        if isinstance(container, (ast.Tuple, ast.List)):
            others = [self.expr(e) for e in container.elts]
            if others and all(isinstance(e, t.Const) for e in others) and not calls(item):
                return t.Logic(t.BOOL, "or", [self.comparison("==", value, e, container) for e in others])
            given = {f"x{k}": e for k, e in enumerate(others)}
            return self.apply(" or ".join(f"x == {x}" for x in given) or "x != x", t.BOOL, item, x=value, **given)
        there = self.expr(container)
        if isinstance(there.type, t.SetType):
            return t.SetHas(t.BOOL, there, self.as_integer(value, item))
        if not isinstance(there.type, t.SeqType):
            raise self.fail(container, f"`in` takes a set, a sequence or (a, b), not a {there.type.name}")
        if not there.type.kind.element.scalar:
            raise self.fail(container, "`in` takes a sequence of numbers, processes, truth values or records")
        return self.apply("any(e == x for e in there)", t.BOOL, container, x=value, there=there)

    def comparison(self, op: str, left: t.Expr, right: t.Expr, node: ast.AST) -> t.Expr:
        if isinstance(left.type, t.SeqType) and isinstance(right.type, t.SeqType) and op in ("==", "!="):
            if left.type.kind.bag or right.type.kind.bag:
                raise self.fail(node, f"{op} compares sequences element by element, and a bag has no order")
            one_kind = left.type == right.type
            alike = "len(a) == len(b) and all(a[k] == b[k] for k in range(len(a)))"
            same: t.Expr = t.SameSeq(t.BOOL, left, right)
            if not one_kind:
                same = self.apply(alike, t.BOOL, node, a=left, b=right)
            return t.Not(t.BOOL, same) if op == "!=" else same
        if isinstance(left.type, t.SetType) and isinstance(right.type, t.SetType):
            if op not in ("==", "!="):
                return self.of_sets(op, left, right, node)
            left, right = self.alike(left, right, node)
        if left.type != right.type or not is_scalar(left.type):
            raise self.fail(node, f"a {left.type.name} cannot be compared with a {right.type.name}")
        ordered = left.type == t.INT or (isinstance(left.type, t.RecordType) and left.type.record.ordered)
        if op not in ("==", "!=") and not ordered:
            raise self.fail(node, f"{op} takes integers, or records that are declared ordered")
        if op not in ("==", "!="):
            self.used_as_number(left, right)
        if isinstance(left, t.Const) and isinstance(right, t.Const):
            return t.Const(t.BOOL, int(eval(f"{left.value} {op} {right.value}", {})))
        return t.Compare(t.BOOL, op, left, right)

    def call(self, node: ast.Call) -> t.Expr:
        if not isinstance(node.func, ast.Name):
            said = ast.unparse(node.func)
            more = INSTEAD.get(said.partition(".")[0], METHODS.get(said.rpartition(".")[2], ""))
            raise self.fail(node, f"{said} cannot be called here{more}")
        name = node.func.id
        if name == MARK:
            self.check_sentence(node)
            return t.Const(t.BOOL, 0)
        if name == NUMBER_OF:
            value = self.expr(node.args[0])
            return t.Choice(t.INT, value, t.Const(t.INT, 1), t.Const(t.INT, 0)) if value.type == t.BOOL else value
        if name in (WITH_MEMBER, MEMBER_OF):  # of a comprehension
            value, item = map(self.expr, node.args)
            return t.SetWith(value.type, value, item) if name == WITH_MEMBER else self.member(value, item)
        if name in QUANTIFIERS and len(node.args) == 1:
            return self.quantified(node, name)
        if name == "is_quorum":
            return self.is_quorum(node)
        if name in OF_ROLES and self.is_of_language(name):
            return self.is_a(node) if name == "is_a" else self.one_of(node, name)
        if name in (*QUANTIFIERS, "abs", "len", "forget") and node.keywords:
            raise self.fail(node, f"{name} is called with positional arguments only")
        if name in (*QUANTIFIERS, "abs", "len") and self.meant(name) is None and len(node.args) != 1:
            if name not in ("min", "max") or not node.args:
                raise self.fail(node, f"{name} takes one argument here")
        if name == "set" and len(node.args) <= 1 and not node.keywords and self.meant(name) is None:
            made = bool(node.args) and isinstance(node.args[0], ast.Call)  # set(range(...)), set(processes(s))
            value = self.expr(node.args[0]) if node.args and not made else t.Const(t.SetType(EMPTY), 0)
            if made or isinstance(value.type, t.SeqType):
                through = gone_through(node.args[0])
                return self.set_of(ast.copy_location(ast.SetComp(through.elt, through.generators), node))
            return self.coerce(value, value.type if isinstance(value.type, t.SetType) else t.SetType(EMPTY), node)
        if name == "len" and len(node.args) == 1:
            return self.length(node.args[0], node)
        if name in ("min", "max") and len(node.args) >= 2:
            given = [self.integer(a) for a in node.args]
            self.used_as_number(*given)
            return reduce(lambda one, other: t.Builtin(t.INT, name, [one, other]), given)
        if name == "abs" and len(node.args) == 1:
            return self.apply("max(x, -x)", t.INT, node, x=self.integer(node.args[0]))
        if name == "forget" and len(node.args) == 2:
            own = node.args[1]
            if self.is_handler and not (isinstance(own, ast.Name) and own.id == self.own):
                raise self.fail(node, f"a handler calls forget for its own process only: {self.own}")
            if self.writes is not None and Role.VOLATILE not in self.writes:
                raise self.fail(node, f"{self.name} is not a handler, or is read-only: it may not call forget")
            self.acts = True
            site = self.site(node, NO_PROCESS.field, NO_PROCESS.problem)
            state, p = self.expr(node.args[0]), self.integer(node.args[1])
            return t.Builtin(t.VOID, "forget", [state, p, t.Const(t.INT, site)])
        if name in KERNEL:
            if self.is_handler or self.writes is not None:
                raise self.fail(node, f"{name} is for kernels, not for protocols and their properties")
            wanted, result = KERNEL[name]
            if len(node.args) != len(wanted):
                raise self.fail(node, f"{name} takes {len(wanted)} arguments")
            args = [self.coerce(self.expr(a), w, node) for a, w in zip(node.args, wanted, strict=True)]
            return t.Builtin(result, name, args)
        named = self.front.namespace.get(self.apart.get(name, name))
        if isinstance(named, MessageName):
            return self.make_message(named.name, node)
        kind = self.front.types.get(name)
        if isinstance(kind, Record):
            return self.make_record(kind, node)
        return self.call_function(name, node)

    def call_function(self, name: str, node: ast.Call) -> t.Expr:
        key = self.apart.get(name, name)
        if not isinstance(self.front.namespace.get(key), FunctionType):
            functions = (known for known, value in self.front.namespace.items() if isinstance(value, FunctionType))
            hint = INSTEAD.get(name) or ("" if hasattr(builtins, name) else near(name, functions))
            lacks = unimported(name) if name not in self.python.__globals__ else ""
            raise self.fail(node, lacks or f"there is no function {name}{hint}")
        if node.keywords:
            raise self.fail(node, f"{name} is called with positional arguments only")
        target = self.front.function(key)
        wanted = [kind for parameter, kind in target.params if parameter != NOTED]
        given, usual = [*map(self.expr, node.args)], self.front.namespace[key].__defaults__ or ()
        for value in (
            usual[max(0, len(node.args) - (len(wanted) - len(usual))) :] if len(node.args) < len(wanted) else ()
        ):
            given.append(t.Const(t.BOOL, int(value)) if isinstance(value, bool) else self.constant(int(value), node))
        if len(wanted) != len(given):
            called = f"{name}({', '.join(parameter for parameter, _ in target.params if parameter != NOTED)})"
            raise self.fail(node, f"{called} takes {len(wanted)} arguments, and {len(node.args)} are given")
        nodes = [*node.args, *[node] * (len(given) - len(node.args))]
        args = [self.coerce(value, kind, of) for value, kind, of in zip(given, wanted, nodes, strict=True)]
        for (parameter, _), value, argument in zip(target.params, args, node.args, strict=False):
            if parameter in target.wants:
                if isinstance(value, t.Const) and ast.unparse(argument) == "NOTHING":
                    raise self.fail(node, passes_nothing(target, parameter))
                self.used_as_number(value)
        if self.is_handler:
            self.check_acts(key, target, args, node)
        may_choose = name == "choose" and (self.is_handler or self.surroundings or self.begins)
        if self.writes is not None and (not self.writes or not (self.is_handler or may_choose)):
            opens = self.begins and name in AT_THE_BEGINNING
            if hasattr(self.front.namespace[key], "acts") and not opens:
                raise self.fail(node, f"{self.name} is not a handler, or is read-only: it may not call {name}")
        if len(wanted) < len(target.params):
            args.append(self.state_in_scope())
        self.reads |= self.front.program.reads[key]
        if self.is_handler and key not in self.front.handlers and target.returns != t.VOID:
            self.check_no_ghost(key, node)
        return t.Call(target.returns, key, args)

    def check_acts(self, name: str, target: t.Function, args: list[t.Expr], node: ast.AST) -> None:
        """Check that the process acting in a function that a handler calls is the handler's own process.

        For another handler that is the process it is for, unless it touches nothing of that process; for a function of
        the world, the one that its declaration names. A world with declarations provides nothing else; in one without,
        the process after the state acts.

        Raises:
            LanguageError: another process acts.
        """
        acting = own_process(target.params, target.processes) if target.acts else None
        if name not in self.front.handlers and self.front.declares:
            acting = getattr(self.front.namespace[name], "acts", None)
            if acting is None and any(kind == t.STATE and name_ != NOTED for name_, kind in target.params):
                raise self.fail(node, f"no world provides {name} to a handler")
        if acting:
            self.acts = True
            given = args[[parameter for parameter, _ in target.params].index(acting)]
            if not (isinstance(given, t.Var) and given.name == self.own):
                called, own = self.front.namespace[name].__name__, self.own or "it has none"
                raise self.fail(node, f"a handler calls {called} for its own process only: {own}")

    def check_no_ghost(self, name: str, node: ast.AST) -> None:
        """Check that what the world returns to a handler does not come from a ghost, except a new identity.

        Raises:
            LanguageError: it does.
        """
        if getattr(self.front.namespace[name], "new_identity", False):
            return
        for read in sorted(self.front.program.reads[name]):
            if self.front.layout.fields[read].role is Role.GHOST:
                raise self.fail(node, f"a handler may not read ghost field {read}, which {name} returns")

    def make_message(self, name: str, node: ast.Call) -> t.Expr:
        union = self.front.types["AnyMessage"]
        assert isinstance(union, MessageUnion)
        tag = self.tag(name, node)
        message = union.named(name)
        given = {k.arg or "**": k.value for k in node.keywords}
        if node.args or set(given) != set(message.fields):
            raise self.fail(node, f"{name} takes exactly the fields {', '.join(message.fields)}, by name")
        parts = []
        for fname, argument in given.items():  # in the order in which they are written
            kind, value = message.fields[fname], self.expr(argument)
            if kind.scalar:
                value = self.coerce(value, kind_type(kind), node, f"{name}.{fname}")
            elif not (isinstance(value.type, t.SeqType) and value.type.kind == kind):
                raise self.fail(node, f"{name}.{fname} is a sequence")
            parts.append((union.offsets(name)[fname], kind, value, self.range_site(node, kind, f"{name}.{fname}")))
        return t.MakeMessage(t.MessageType(union, name), tag, parts, self.state_in_scope())

    def make_record(self, record: Record, node: ast.Call) -> t.Expr:
        given = {k.arg or "**": k.value for k in node.keywords}
        if node.args or set(given) != set(record.fields):
            raise self.fail(node, f"{record.name} takes exactly the fields {', '.join(record.fields)}, by name")
        parts = []
        for fname, argument in given.items():  # in the order in which they are written
            kind, label = record.fields[fname], f"{record.name}.{fname}"
            site = self.range_site(node, kind, label)
            parts.append((fname, self.coerce(self.expr(argument), kind_type(kind), node, label), site))
        return t.MakeRecord(t.RecordType(record), record, parts, self.state_in_scope())


def calls(node: ast.expr) -> bool:
    """Return whether an expression has a call in it."""
    return any(isinstance(part, ast.Call) for part in ast.walk(node))


def own_process(params: list[tuple[str, t.AnyType]], processes: Collection[str]) -> str | None:
    """Return the process that a handler is for: the parameter after the state."""
    if len(params) > 1 and params[0][1] == t.STATE and params[1][0] in processes:
        return params[1][0]
    return None


def works_on_words(python: FunctionType, node: ast.FunctionDef, front: Context) -> bool:
    """Return whether a function is a kernel: it works on words, bytes and structs of arrays, and its integers wrap."""
    typed = [front.type_of_annotation(annotated(a.annotation)) for a in node.args.args]
    memory = any(kind in (t.WORDS, t.BYTES) or isinstance(kind, t.StructType) for kind in typed)
    if memory or KERNEL.keys().isdisjoint(global_names(python.__code__)):
        return memory
    called = {part.func.id for part in ast.walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)}
    return bool(called & KERNEL.keys())


def kind_type(kind: Kind) -> t.AnyType:
    """Return the type of a value that lies in memory as this kind."""
    if isinstance(kind, Bool):
        return t.BOOL
    if isinstance(kind, (Int, NodeId)):
        return t.INT
    if isinstance(kind, SetOf):
        return t.SetType(kind)
    if isinstance(kind, Record):
        return t.RecordType(kind)
    if isinstance(kind, Seq):
        return t.SeqType(kind)
    assert isinstance(kind, MessageUnion)
    return t.MessageType(kind)


def as_value(found: t.Expr) -> t.Expr:
    """Return a scalar place as a load; anything else unchanged."""
    if isinstance(found, t.Memory) and found.kind.scalar:
        return t.Load(found.type, found)
    return found


def is_scalar(kind: t.AnyType) -> bool:
    """Return whether a value of a type is one machine word."""
    return kind in (t.INT, t.BOOL) or isinstance(kind, (t.RecordType, t.SetType, t.NameType))
