"""Read the classes of a Java file: their methods and fields, each with its normal form.

`CONTRIBUTING.md` ("When ZooKeeper changes") describes `--drift`, which compares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from checker.errors import RequestError
from checker.zookeeper.java_normal import DECLARED, Normal, text_of
from zabspec.extras import missing

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

TYPES = ("class_declaration", "interface_declaration", "enum_declaration", "record_declaration")
METHODS = ("method_declaration", "constructor_declaration")
NO_TYPE = (DECLARED, "modifiers", "identifier")  # parts of a parameter
FIELDS = ("field_declaration", "constant_declaration")


class Unparsed(ValueError):
    """A file is not Java that the parser knows; the message says so."""


@dataclass(frozen=True)
class Method:
    """A parsed method.

    Attributes:
        name: of the method.
        parameters: the types of its parameters, between commas.
        arity: how many arguments it takes; of a variable number, the least, as a negative number less one.
        result: the node of the type of its result; None for a constructor.
        node: its node in the tree.
    """

    name: str
    parameters: str
    arity: int
    result: Node | None
    node: Node

    @property
    def line(self) -> int:
        return int(self.node.start_point[0]) + 1

    @cached_property
    def normal(self) -> Normal:
        return Normal(self.node)

    def takes(self, arguments: int) -> bool:
        """Return whether it can be called with a number of arguments."""
        return arguments == self.arity if self.arity >= 0 else arguments >= -self.arity - 1


@dataclass(frozen=True)
class Field:
    """A parsed field of a class.

    Attributes:
        name: of the field.
        type: the node of its type.
        node: the node that declares it, with its initial value.
        top: the nodes of its modifiers, its type and itself.
    """

    name: str
    type: Node
    node: Node
    top: tuple[Node, ...]

    @cached_property
    def normal(self) -> Normal:
        return Normal(*self.top)


@dataclass(frozen=True)
class JavaClass:
    """A class of a file, nested ones included.

    Attributes:
        name: its simple name.
        above: the names of its superclass, if any, and of the interfaces that it implements or extends.
        outer: the simple name of the class around it; empty if there is none.
        body: its body in the tree.
        imports: by simple name the full names of the classes that its file imports; of members, after `static `.
    """

    name: str
    above: tuple[str, ...]
    outer: str
    body: Node
    imports: Mapping[str, str]

    def methods(self, name: str) -> list[Method]:
        """Return the methods of a name that the class declares, overloads in their order."""
        return self.by_name.get(name, [])

    @cached_property
    def by_name(self) -> dict[str, list[Method]]:
        out: dict[str, list[Method]] = {}
        for node in self.members():
            if node.type in METHODS:
                method = method_of(node)
                out.setdefault(method.name, []).append(method)
        return out

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The fields that the class declares, by their names."""
        return {field.name: field for node in self.members() if node.type in FIELDS for field in fields_of(node)}

    def members(self) -> Iterator[Node]:
        for node in self.body.children:
            if node.type == "enum_body_declarations":
                yield from node.children
            else:
                yield node


@cache
def parser() -> Parser:
    """Return the parser of Java.

    Raises:
        RequestError: it is not installed.
    """
    if lacking := missing("tree_sitter", "tree_sitter_java"):
        raise RequestError(f"--drift needs {lacking}")
    import tree_sitter
    import tree_sitter_java

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_java.language()))


def read_java(source: bytes) -> dict[str, JavaClass]:
    """Return the classes of a file by their simple names.

    Raises:
        RequestError: there is no parser.
        Unparsed: the parser does not understand all of it.
    """
    root = parser().parse(source).root_node
    if root.has_error:
        raise Unparsed("not Java that the parser knows")
    classes: dict[str, JavaClass] = {}
    imports = dict(imported(root))
    left = [("", root)]
    while left:
        outer, node = left.pop()
        if node.type in TYPES:
            body = node.child_by_field_name("body")
            name = text_of(node.child_by_field_name("name"))
            if body is not None and name not in classes:
                classes[name] = JavaClass(name, tuple(classes_above(node)), outer, body, imports)
            outer = name
        if node.type in TYPES or node.type.endswith(("_body", "_body_declarations")) or node is root:
            left += [(outer, child) for child in reversed(node.children)]
    return classes


def imported(root: Node) -> Iterator[tuple[str, str]]:
    """Yield what a file imports by name: the simple name, after `static ` for a member, and the full one."""
    for node in root.children:
        if node.type == "import_declaration" and not any(n.type == "asterisk" for n in node.children):
            full = next((text_of(n) for n in node.named_children if n.type == "scoped_identifier"), "")
            member = any(n.type == "static" for n in node.children)
            yield ("static " if member else "") + full.split(".")[-1], full


def classes_above(node: Node) -> Iterator[str]:
    """Yield the names of the class that a class extends, and of the interfaces, without type arguments."""
    for child in node.children:
        if child.type == "superclass":
            yield from (name_of_type(n) for n in child.named_children)
        elif child.type in ("super_interfaces", "extends_interfaces"):
            for inner in child.named_children:
                yield from (name_of_type(n) for n in inner.named_children)


def name_of_type(node: Node) -> str:
    """Return the name of a type without its type arguments."""
    return "".join(text_of(node).split("<")[0].split())


def method_of(node: Node) -> Method:
    """Return the method that a node declares."""
    types, least, varies = [], 0, False
    parameters = node.child_by_field_name("parameters")
    for one in parameters.named_children if parameters is not None else ():
        if one.type in ("formal_parameter", "spread_parameter"):
            varies = varies or one.type == "spread_parameter"
            least += one.type == "formal_parameter"
            types.append(" ".join(w for n in one.children if n.type not in NO_TYPE for w in Normal(n).words()))
    arity = -least - 1 if varies else least
    name = text_of(node.child_by_field_name("name"))
    return Method(name, ", ".join(types), arity, node.child_by_field_name("type"), node)


def fields_of(node: Node) -> Iterator[Field]:
    """Yield the fields that a declaration declares."""
    kind = node.child_by_field_name("type")
    modifiers = [n for n in node.children if n.type == "modifiers"]
    declared = [n for n in node.children if n.type == DECLARED]
    if kind is None:
        return
    for one in declared:
        sizes = [n for n in one.children if n.type == "dimensions"] if len(declared) == 1 else []
        name = text_of(one.child_by_field_name("name"))
        yield Field(name, kind, one, (*modifiers, kind, *sizes, one))
