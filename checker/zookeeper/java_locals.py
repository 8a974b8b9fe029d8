"""Find the local variables of a Java method and what names them, by the scopes of the language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

METHODS = ("method_declaration", "constructor_declaration", "lambda_expression", "compact_constructor_declaration")
# The child of a node that is an identifier, but names no variable.
NO_VARIABLE = {
    "method_invocation": "name",
    "field_access": "field",
    "method_declaration": "name",
    "constructor_declaration": "name",
    "class_declaration": "name",
    "labeled_statement": "",
    "break_statement": "",
    "continue_statement": "",
    "scoped_identifier": "",
    "marker_annotation": "",
    "annotation": "",
    "element_value_pair": "key",
}


@dataclass(frozen=True)
class Local:
    """A local variable or a parameter.

    Attributes:
        name: its name.
        type: the node of its type; None where it is inferred.
        declarator: the node that declares it.
        start: the byte from which its name means it.
        end: the byte from which it does not.
    """

    name: str
    type: Node | None
    declarator: Node
    start: int
    end: int


class Locals:
    """The local variables of a method, those of its lambdas and nested classes included.

    Attributes:
        all: the variables, in the order of their declarations.
        hidden: those whose name may mean something else in a part of their scope, such as a field of a nested class.
    """

    def __init__(self, method: Node) -> None:
        self.all: list[Local] = []
        self.by_name: dict[str, list[Local]] = {}
        for node in nodes_under(method):
            for local in declared_by(node):
                self.all.append(local)
                self.by_name.setdefault(local.name, []).append(local)
        elsewhere = named_elsewhere(method)
        self.hidden = {local for local in self.all if any(is_within(n, local) for n in elsewhere.get(local.name, ()))}

    def of(self, identifier: Node) -> Local | None:
        """Return the variable that an identifier names, or that it declares; None if it names none of them."""
        known = self.by_name.get(text_of(identifier))
        if known is None or not names_a_variable(identifier):
            return None
        at = identifier.start_byte
        declared = identifier.parent
        for local in reversed(known):
            if local.start <= at < local.end or (local.declarator == declared and is_name_of(identifier, declared)):
                return local
        return None


def nodes_under(top: Node) -> Iterator[Node]:
    """Yield a node and the nodes under it, in their order."""
    left = [top]
    while left:
        node = left.pop()
        yield node
        left += reversed(node.children)


def text_of(node: Node | None) -> str:
    """Return the source of a node; empty for None. Bytes that are not UTF-8 stay apart."""
    return "" if node is None or node.text is None else node.text.decode(errors="surrogateescape")


def names_a_variable(identifier: Node) -> bool:
    """Return whether an identifier stands where a variable, a field or a class can be named, not a method or label."""
    above = identifier.parent
    if above is None or identifier.type != "identifier":
        return False
    if above.type == "method_reference":
        return above.children[0] == identifier
    field = NO_VARIABLE.get(above.type)
    return field is None or (field != "" and above.child_by_field_name(field) != identifier)


def is_name_of(identifier: Node, declarator: Node | None) -> bool:
    if declarator is None or declarator.type in ("inferred_parameters", "lambda_expression"):
        return True
    return declarator.child_by_field_name("name") == identifier


def declared_by(node: Node) -> Iterator[Local]:
    """Yield the variables that a node declares."""
    above = node.parent
    if above is None:
        return
    if node.type == "variable_declarator" and above.type == "local_variable_declaration":
        yield local_of(node, above.child_by_field_name("type"), node.start_byte, end_of_block(above))
    elif node.type in ("formal_parameter", "spread_parameter"):
        inner = next((n for n in node.children if n.type == "variable_declarator"), node)
        kind = node.child_by_field_name("type") or next((n for n in node.named_children if n.type != "modifiers"), None)
        yield local_of(inner, kind, inner.start_byte, end_above(node, METHODS))
    elif node.type in ("inferred_parameters", "lambda_expression"):
        of = node if node.type == "inferred_parameters" else node.child_by_field_name("parameters")
        if of is not None and of.type == "identifier":
            yield Local(text_of(of), None, node, of.start_byte, node.end_byte)
        elif node.type == "inferred_parameters":
            for one in node.named_children:
                yield Local(text_of(one), None, node, one.start_byte, above.end_byte)
    elif node.type == "resource" and node.child_by_field_name("name") is not None:
        statement = above.parent
        body = statement.child_by_field_name("body") if statement is not None else None
        yield local_of(node, node.child_by_field_name("type"), node.start_byte, (body or node).end_byte)
    elif node.type == "catch_formal_parameter":
        yield local_of(node, None, node.start_byte, above.end_byte)
    elif node.type == "enhanced_for_statement":
        value = node.child_by_field_name("value")
        yield local_of(node, node.child_by_field_name("type"), (value or node).end_byte, node.end_byte)


def local_of(declarator: Node, kind: Node | None, start: int, end: int) -> Local:
    return Local(text_of(declarator.child_by_field_name("name")), kind, declarator, start, end)


def end_of_block(declaration: Node) -> int:
    """Return where the scope of a declaration in a block, a loop's head or a case of a switch ends."""
    above = declaration.parent
    if above is not None and above.type == "switch_block_statement_group" and above.parent is not None:
        above = above.parent
    return (above or declaration).end_byte


def end_above(node: Node, types: tuple[str, ...]) -> int:
    above = node.parent
    while above is not None and above.type not in types:
        above = above.parent
    return (above or node).end_byte


def named_elsewhere(method: Node) -> dict[str, list[Node]]:
    """Return by name the nested classes and labels of cases in which it may mean something other than a variable."""
    out: dict[str, list[Node]] = {}
    for node in nodes_under(method):
        if node.type in ("class_body", "switch_label"):
            for name in {text_of(n) for n in nodes_under(node) if n.type == "identifier"}:
                out.setdefault(name, []).append(node)
    return out


def is_within(node: Node, local: Local) -> bool:
    return local.start <= node.start_byte and node.end_byte <= local.end
