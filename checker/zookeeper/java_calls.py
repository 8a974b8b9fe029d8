"""Find the methods and fields of ZooKeeper that the body of a method uses, by the declared types of its variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from checker.zookeeper.java_normal import CREATION, names_a_variable, text_of
from checker.zookeeper.java_syntax import Field, JavaClass, Method, name_of_type
from checker.zookeeper.source_tree import ROOTS, SourceTree

if TYPE_CHECKING:
    from tree_sitter import Node

    from checker.zookeeper.java_normal import Normal


@dataclass(frozen=True)
class ClassPlace:
    """A class in a file of a tree."""

    path: str
    name: str


@dataclass(frozen=True)
class Member:
    """A method, or a field, of a class; overloads are one member.

    Attributes:
        place: the class that declares it.
        name: its name.
        is_field: whether it is a field.
    """

    place: ClassPlace
    name: str
    is_field: bool = False


class Calls:
    """What the methods of a source tree use of one another.

    A call is followed to the class that the receiver is declared as, and to the nearest one above that declares the
    method. What is passed over: calls on values whose type is inferred or a type parameter, and on classes that are
    not in the tree.
    """

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self.known = {path for paths in tree.paths.values() for path in paths}

    def class_at(self, place: ClassPlace | None) -> JavaClass | None:
        """Return the class at a place; None if its file does not parse."""
        if place is None:
            return None
        classes = self.tree.classes(place.path)
        return None if isinstance(classes, str) else classes.get(place.name)

    # --- names --------------------------------------------------------------------------------------

    def named(self, name: str, path: str) -> ClassPlace | None:
        """Return the class that a name means in a file."""
        classes = self.tree.classes(path)
        if isinstance(classes, str):
            return None
        first, _, rest = name.partition(".")
        last = name.rpartition(".")[2]
        if first in classes:
            return ClassPlace(path, last) if last in classes else None
        some = next(iter(classes.values()), None)
        full = some.imports.get(first, "") if some is not None else ""
        beside = str(PurePosixPath(path).with_name(f"{first}.java"))
        if not full and beside in self.known:
            return self.within(beside, last)
        return self.of_full_name(f"{full}.{rest}" if full and rest else full or name)

    def of_full_name(self, full: str) -> ClassPlace | None:
        parts = full.split(".")
        for k in range(len(parts), 1, -1):
            for root in ROOTS:
                path = f"{root}/{'/'.join(parts[:k])}.java"
                if path in self.known:
                    return self.within(path, parts[-1])
        return None

    def within(self, path: str, name: str) -> ClassPlace | None:
        classes = self.tree.classes(path)
        return ClassPlace(path, name) if not isinstance(classes, str) and name in classes else None

    def chain(self, place: ClassPlace) -> Iterator[tuple[ClassPlace, JavaClass]]:
        """Yield a class and those above it, the nearest first."""
        seen: set[ClassPlace] = set()
        left: list[ClassPlace | None] = [place]
        while left:
            at = left.pop(0)
            found = self.class_at(at)
            if at is not None and found is not None and at not in seen:
                seen.add(at)
                yield at, found
                left += [self.named(name, at.path) for name in found.above]

    def around(self, place: ClassPlace) -> Iterator[ClassPlace]:
        """Yield a class and those around it."""
        at: ClassPlace | None = place
        while at is not None and (found := self.class_at(at)) is not None:
            yield at
            at = ClassPlace(at.path, found.outer) if found.outer else None

    # --- members ------------------------------------------------------------------------------------

    def methods(self, place: ClassPlace, name: str, arguments: int | None) -> tuple[ClassPlace, list[Method]] | None:
        """Return the methods of a name that take so many arguments, and the class that declares them."""
        for at, found in self.chain(place):
            methods = [m for m in found.methods(name) if arguments is None or m.takes(arguments)]
            if methods:
                return at, methods
        return None

    def field(self, place: ClassPlace, name: str) -> tuple[ClassPlace, Field] | None:
        """Return a field of a class, and the class that declares it."""
        return next(((at, found.fields[name]) for at, found in self.chain(place) if name in found.fields), None)

    def called(self, call: Node, place: ClassPlace, body: Normal) -> tuple[ClassPlace, list[Method]] | None:
        """Return the methods that a call may mean, by the number of its arguments."""
        name, of = text_of(call.child_by_field_name("name")), call.child_by_field_name("object")
        arguments = call.child_by_field_name("arguments")
        count = len([n for n in arguments.named_children if "comment" not in n.type]) if arguments is not None else 0
        if of is not None:
            owner = self.type_of(of, place, body)
            return self.methods(owner, name, count) if owner is not None else None
        for at in self.around(place):
            if (found := self.methods(at, name, count)) is not None:
                return found
        owner = self.imported_from(name, place)
        return self.methods(owner, name, count) if owner is not None else None

    def variable(self, name: str, place: ClassPlace) -> tuple[ClassPlace, Field] | None:
        """Return the field that a simple name means."""
        for at in self.around(place):
            if (found := self.field(at, name)) is not None:
                return found
        owner = self.imported_from(name, place)
        return self.field(owner, name) if owner is not None else None

    def imported_from(self, name: str, place: ClassPlace) -> ClassPlace | None:
        found = self.class_at(place)
        full = found.imports.get(f"static {name}", "") if found is not None else ""
        return self.of_full_name(full.rpartition(".")[0]) if full else None

    # --- types --------------------------------------------------------------------------------------

    def declared_as(self, kind: Node | None, path: str) -> ClassPlace | None:
        return None if kind is None else self.named(name_of_type(kind).rstrip("[]"), path)

    def type_of(self, node: Node | None, place: ClassPlace, body: Normal) -> ClassPlace | None:
        """Return the class of an expression; None if it is not one of the tree, or not known."""
        if node is None:
            return None
        if node.type == "this":
            return place
        if node.type == "super":
            above = next(iter(getattr(self.class_at(place), "above", ())), "")
            return self.named(above, place.path) if above else None
        if node.type == "identifier":
            return self.type_of_name(node, place, body)
        if node.type == "field_access":
            return self.type_of_field(node, place, body)
        if node.type == "method_invocation":
            called = self.called(node, place, body)
            return self.declared_as(called[1][0].result, called[0].path) if called is not None else None
        if node.type == "array_access":
            return self.type_of(node.child_by_field_name("array"), place, body)
        if node.type in (CREATION, "cast_expression"):
            return self.declared_as(node.child_by_field_name("type"), place.path)
        if node.type == "parenthesized_expression":
            return self.type_of(node.named_children[0], place, body)
        if node.type == "ternary_expression":
            return self.type_of(node.child_by_field_name("consequence"), place, body)
        return None

    def type_of_name(self, identifier: Node, place: ClassPlace, body: Normal) -> ClassPlace | None:
        local, name = body.local(identifier), text_of(identifier)
        if local is not None:
            if text_of(local.type) == "var":
                return self.type_of(local.declarator.child_by_field_name("value"), place, body)
            return self.declared_as(local.type, place.path)
        field = self.variable(name, place)
        return self.declared_as(field[1].type, field[0].path) if field is not None else self.named(name, place.path)

    def type_of_field(self, access: Node, place: ClassPlace, body: Normal) -> ClassPlace | None:
        name = text_of(access.child_by_field_name("field"))
        of = access.child_by_field_name("object")
        if name == "this":
            return self.declared_as(of, place.path)
        owner = self.type_of(of, place, body)
        field = self.field(owner, name) if owner is not None else None
        if field is not None:
            return self.declared_as(field[1].type, field[0].path)
        return self.named("".join(text_of(access).split()), place.path)

    # --- what a body uses ---------------------------------------------------------------------------

    def used(self, place: ClassPlace, body: Normal) -> Iterator[Member]:
        """Yield the members that a body uses, in the order of their places in it; one that is used twice comes twice.

        Args:
            place: the class that the body is in.
            body: its normal form; what it leaves out uses nothing.
        """
        for node in body.covered():
            yield from self.used_by(node, place, body)

    def used_by(self, node: Node, place: ClassPlace, body: Normal) -> Iterator[Member]:
        if node.type == "method_invocation":
            if (called := self.called(node, place, body)) is not None:
                yield Member(called[0], called[1][0].name)
        elif node.type == "method_reference" and node.children[-1].type == "identifier":
            owner = self.type_of(node.children[0], place, body)
            if owner is not None and (found := self.methods(owner, text_of(node.children[-1]), None)) is not None:
                yield Member(found[0], found[1][0].name)
        elif node.type == CREATION:
            created = self.declared_as(node.child_by_field_name("type"), place.path)
            found_class = self.class_at(created)
            if created is not None and found_class is not None and found_class.methods(found_class.name):
                yield Member(created, created.name)
        elif node.type == "field_access":
            owner = self.type_of(node.child_by_field_name("object"), place, body)
            field = self.field(owner, text_of(node.child_by_field_name("field"))) if owner is not None else None
            if field is not None:
                yield Member(field[0], field[1].name, is_field=True)
        elif node.type == "identifier" and names_a_variable(node):
            if body.local(node) is None:
                field = self.variable(text_of(node), place)
                if field is not None:
                    yield Member(field[0], field[1].name, is_field=True)
