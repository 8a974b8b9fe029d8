"""Check that no process is used where one of another role is required.

A name is of a role by its annotation (`p: Client`), by the loop that goes through the role (`processes(s, Client)`), or
by the declared kind of the field or message that it comes from (`Client`). A process annotated
`Node` may be of any role; where one of a certain role is required, the function has to test it: `is_a(s, q, Client)`.

What is checked: the index of a field that one role has, what is stored where processes of one role are kept, what is
passed and returned, to whom a message is sent, who is given as its sender, and what is compared.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType

from zabspec.authoring.declaration import ProtocolError
from zabspec.language.layout.kinds import Kind, Message, NodeId, Record, Seq, SetOf
from zabspec.language.layout.place import SourcePlace
from zabspec.language.layout.schema import NODE, Field
from zabspec.language.layout.source import annotated, calls_of, definition, indexed
from zabspec.roles import type_name

ANY = ""  # of a process: its role is not known
NOTHING = "nobody"  # NOBODY, which is of every role
OF_ROLE = {"processes": 1, "only": 1, "is_a": 2, "is_quorum": 2}  # which argument is a role


@dataclass(frozen=True)
class Value:
    """The facts about a value that involves processes.

    Attributes:
        what: `process`, `set` for a set of processes, or `message`.
        role: the role of the processes; for a message, its kind.
    """

    what: str
    role: str


@dataclass(frozen=True)
class RoleTypes:
    """The declarations of a protocol that concern roles.

    Attributes:
        name: the name of the protocol in messages.
        roles: the names of the roles.
        fields: by name.
        messages: by name.
        receipts: the function that receives each kind of message.
        functions: the functions of the source, by name.
    """

    name: str
    roles: tuple[str, ...]
    fields: Mapping[str, Field]
    messages: Mapping[str, Message]
    receipts: Mapping[str, FunctionType]
    functions: Mapping[str, FunctionType]

    @property
    def by_type(self) -> Mapping[str, str]:
        """Return the roles by the names of their types, and that of `Node`."""
        return {**{type_name(role): role for role in self.roles}, "Node": ANY}

    @cached_property
    def records(self) -> Mapping[str, Record]:
        """Return the records of fields and messages, by name."""
        kinds = [f.kind for f in self.fields.values()]
        kinds += [kind for m in self.messages.values() for kind in m.fields.values()]
        inner = [kind.element if isinstance(kind, Seq) else kind for kind in kinds]
        return {kind.name: kind for kind in inner if isinstance(kind, Record)}

    def parameters(self, function: FunctionType) -> list[tuple[str, Value | None]]:
        """Return the parameters of a function, with what their annotations imply."""
        return [(a.arg, self.said(a.annotation)) for a in definition(function).args.args]

    def said(self, annotation: ast.expr | None) -> Value | None:
        """Return what an annotation implies."""
        text = annotated(annotation)
        if text in self.by_type:
            return Value("process", self.by_type[text])
        if text == "Members":
            return Value("set", ANY)
        return Value("message", text) if text in self.messages else None

    def held(self, kind: Kind) -> Value | None:
        """Return what a place of a kind holds."""
        match kind:
            case NodeId(role=role):
                return Value("process", role)
            case SetOf(nodes=True, role=role):
                return Value("set", role)
        return None


class RoleReader:
    """Checks that one function has no process of another role where one of a certain role is wanted."""

    def __init__(self, types: RoleTypes, function: FunctionType) -> None:
        self.types, self.function = types, function
        self.node = definition(function)
        self.known: dict[str, Value | None] = dict(types.parameters(function))
        self.asked = {  # names whose role the function tests, each with the roles
            (call.args[1].id, call.args[2].id)
            for call in calls_of(self.node, "is_a")
            if len(call.args) == 3 and isinstance(call.args[1], ast.Name) and isinstance(call.args[2], ast.Name)
        }
        for _ in range(2):  # a name may get its value from one that is further down in the function
            self.learn()

    def fail(self, node: ast.AST, said: str) -> ProtocolError:
        place = SourcePlace(self.function.__code__.co_filename, getattr(node, "lineno", self.node.lineno))
        return ProtocolError(f"{self.types.name}:{place.line}: {said}", place)

    # --- what names hold -----------------------------------------------------------------------

    def learn(self) -> None:
        """Record what is known of local names."""
        for part in ast.walk(self.node):
            match part:
                case ast.For(target=ast.Name(id=name), iter=through):
                    self.note(name, self.visited(through))
                case ast.comprehension(target=ast.Name(id=name), iter=through):
                    self.note(name, self.visited(through))
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.note(name, self.of(value))
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self.note(name, self.of(value))

    def note(self, name: str, value: Value | None) -> None:
        """Record the value of a name; if it has another one elsewhere in the function, it may be of either role."""
        before = self.known.get(name)
        if value is None or value == before or value.role == NOTHING:
            self.known.setdefault(name, value)
        elif before is None or before.role == NOTHING:
            self.known[name] = value
        else:
            self.known[name] = Value(value.what, ANY)

    def visited(self, through: ast.expr) -> Value | None:
        """Return what a loop goes through."""
        match through:
            case ast.Call(func=ast.Name(id="processes"), args=[_, ast.Name(id=role)]):
                return Value("process", self.types.by_type.get(role, ANY))
            case ast.Call(func=ast.Name(id="processes")):
                return Value("process", ANY)
            case ast.Call(func=ast.Name(id="range"), args=[ast.Attribute(attr="NODES")]):
                return Value("process", ANY)
        kind = self.kind_of(through)
        if isinstance(kind, Seq):
            return self.types.held(kind.element)
        found = self.of(through)
        return Value("process", found.role) if found is not None and found.what == "set" else None

    # --- what expressions are ------------------------------------------------------------------

    def kind_of(self, node: ast.expr) -> Kind | None:
        """Return the kind of a place of the state, or of a part of a message."""
        base, given = indexed(node)
        indices = len(given)
        if not isinstance(base, ast.Attribute):
            return None
        within = self.kind_of(base.value) if isinstance(base.value, ast.Attribute | ast.Subscript) else None
        if isinstance(within, Record):
            return within.fields.get(base.attr) if not indices else None
        holder = self.known.get(base.value.id) if isinstance(base.value, ast.Name) else None
        if holder is not None and holder.what == "message":
            kind = self.types.messages[holder.role].fields.get(base.attr)
            axes = 0
        else:
            field = self.types.fields.get(base.attr)
            kind, axes = (field.kind, len(field.axes)) if field is not None else (None, 0)
        if isinstance(kind, Seq) and indices == axes + 1:
            return kind.element
        return kind if indices == axes else None

    def of(self, node: ast.expr) -> Value | None:
        """Return what is known of a value."""
        match node:
            case ast.Name(id="NOBODY"):
                return Value("process", NOTHING)
            case ast.Name(id=name):
                return self.known.get(name)
            case ast.Call(func=ast.Name(id="only" | "any_of"), args=[_, ast.Name(id=role)]) if (
                role in self.types.by_type
            ):
                return Value("process", self.types.by_type[role])
            case ast.Call(func=ast.Name(id="any_of"), args=[_, given]):
                return self.visited(given)
            case ast.Call(func=ast.Name(id="any_process")):
                return Value("process", ANY)
            case ast.Call(func=ast.Name(id=name)) if name in self.types.functions:
                return self.types.said(definition(self.types.functions[name]).returns)
            case ast.Attribute(attr="source" | "target"):
                return Value("process", ANY)
            case ast.BinOp(left=one, op=ast.Sub()):
                return self.of(one)
            case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
                a, b = self.of(one), self.of(other)
                if a is None or b is None or a == b or b.role == NOTHING:
                    return a or b
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd) and b.role == ANY:
                    return a
                return b if a.role == NOTHING else Value(a.what, ANY)
            case ast.SetComp(generators=[ast.comprehension(iter=through)]):
                found = self.visited(through)
                return Value("set", found.role) if found is not None else None
            case ast.Set(elts=[one, *_]):
                found = self.of(one)
                return Value("set", found.role) if found is not None else None
        kind = self.kind_of(node)
        return self.types.held(kind) if kind is not None else None

    # --- what is checked -----------------------------------------------------------------------

    def check(self) -> None:
        """Check the roles of all processes in the function.

        Raises:
            ProtocolError: a process of another role is used where one of a certain role is required.
        """
        for name, at in OF_ROLE.items():
            for call in calls_of(self.node, name):
                self.check_role(call, at)
        for part in ast.walk(self.node):
            match part:
                case ast.Subscript():
                    self.check_index(part)
                case ast.Compare():
                    self.check_compare(part)
                case ast.Assign(targets=[(ast.Subscript() | ast.Attribute()) as target], value=value):
                    self.check_kept(part, ast.unparse(target), self.of(target), value)
                case ast.Return(value=ast.expr() as value):
                    self.check_kept(part, f"the result of {self.node.name}", self.types.said(self.node.returns), value)
                case ast.Call(func=ast.Attribute(value=place, attr="add" | "discard" | "append" as how), args=[value]):
                    kind = self.kind_of(place)
                    inner = self.types.held(kind.element) if isinstance(kind, Seq) else self.of(place)
                    if inner is not None and (how == "append") == isinstance(kind, Seq):
                        self.check_kept(part, ast.unparse(place), Value("process", inner.role), value)
                case ast.Call(func=ast.Name()):
                    self.check_call(part)

    def check_role(self, node: ast.Call, at: int) -> None:
        """Check that an argument of a call is a role.

        Raises:
            ProtocolError: it is not.
        """
        there = [*map(type_name, self.types.roles)]
        if ast.unparse(node.func) == "is_quorum" and not isinstance(node.args[-1], ast.Name):
            return  # of a set of processes
        if at < len(node.args) and ast.unparse(node.args[at]) not in there:
            raise self.fail(node, f"{ast.unparse(node.args[at])} is not a role; there are {', '.join(there)}")

    def check_kept(self, node: ast.AST, where: str, wanted: Value | None, given: ast.expr) -> None:
        """Check a value that is kept, passed or returned where one of a certain role is required.

        Raises:
            ProtocolError: it is of another role.
        """
        if wanted is None or wanted.role in (ANY, NOTHING) or wanted.what == "message":
            return
        found = self.of(given)
        if found is None or found.what != wanted.what or found.role in (wanted.role, NOTHING):
            return
        if isinstance(given, ast.Name) and (given.id, type_name(wanted.role)) in self.asked:
            return
        many = "processes" if wanted.what == "set" else "a process"
        said = (
            f"{where} takes {many} of role {wanted.role}, and {ast.unparse(given)} {self.may_be(found, given, wanted)}"
        )
        raise self.fail(node, said)

    def may_be(self, found: Value, given: ast.expr, wanted: Value) -> str:
        """Return how a message describes what a value is instead."""
        if found.role:
            return f"is of role {found.role}"
        if wanted.what == "process" and isinstance(given, ast.Name):
            asked = f"check is_a(s, {given.id}, {type_name(wanted.role)}) first"
            return f"may be of any role: annotate it, or declare the role of its field, or {asked}"
        return "may be of any role"

    def check_index(self, node: ast.Subscript) -> None:
        """Check the process that indexes a field, or is a key of a map."""
        base, given = indexed(node.value)
        depth = len(given)
        if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
            field = self.types.fields.get(base.attr)
            if field is None:
                return
            if depth == 0 and field.axes[:1] == (NODE,) and field.of:
                said = f"{base.attr}[...], a field of role {field.of},"
                self.check_kept(node, said, Value("process", field.of), node.slice)
            elif depth < len(field.keys) and (role := field.keys[depth]):
                said = f"{ast.unparse(node.value)}[...], whose keys are of role {role},"
                self.check_kept(node, said, Value("process", role), node.slice)

    def check_compare(self, node: ast.Compare) -> None:
        """Check that no processes of two different roles are compared, since they are never equal."""
        for op, left, right in zip(node.ops, [node.left, *node.comparators], node.comparators, strict=False):
            one, other = self.of(left), self.of(right)
            if one is None or other is None or {one.what, other.what} & {"message"}:
                continue
            known = {one.role, other.role} - {ANY, NOTHING}
            if isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) and len(known) == 2:
                said = f"{ast.unparse(left)} is of role {one.role}, and {ast.unparse(right)} of role {other.role}"
                raise self.fail(node, f"{said}: they are never equal")

    def check_call(self, node: ast.Call) -> None:
        """Check what is passed to a function, and to whom a message is sent."""
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if name == "send" and len(node.args) == 4:
            self.check_send(node)
        elif name == "is_quorum" and len(node.args) == 3 and isinstance(node.args[2], ast.Name):
            role = self.types.by_type.get(node.args[2].id, ANY)
            self.check_kept(node, f"is_quorum(..., {node.args[2].id})", Value("set", role), node.args[1])
        elif name in self.types.messages:
            for part in node.keywords:
                kind = self.types.messages[name].fields.get(part.arg or "")
                self.check_kept(node, f"{name}.{part.arg}", self.types.held(kind) if kind else None, part.value)
        elif name in self.types.records:
            for part in node.keywords:
                inner = self.types.records[name].fields.get(part.arg or "")
                self.check_kept(node, f"{name}.{part.arg}", self.types.held(inner) if inner else None, part.value)
        elif name in self.types.functions:
            parameters = self.types.parameters(self.types.functions[name])
            for (parameter, wanted), given in zip(parameters, node.args, strict=False):
                self.check_kept(node, f"{name}({parameter})", wanted, given)

    def check_send(self, node: ast.Call) -> None:
        """Check who sends a message, and to whom."""
        _, sender, target, message = node.args
        match message:
            case ast.Call(func=ast.Name(id=kind)):
                pass
            case ast.Name(id=name) if (given := self.known.get(name)) is not None and given.what == "message":
                kind = given.role
            case _:
                return
        receives = self.types.receipts.get(kind)
        if receives is None:
            return
        processes = [value for _, value in self.types.parameters(receives) if value is not None]
        said = f"{kind}, which {receives.__name__} receives,"
        self.check_kept(node, said, processes[0], target)
        if len(processes) == 3:  # the receiver, who sent it, the message
            self.check_kept(node, f"the source of {said}", processes[1], sender)
