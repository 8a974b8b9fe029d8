"""Compute digests of Java methods and fields, and find what their local variables are declared as.

A digest is of the tokens, without comments, annotations, `throws`, and calls of a logger whose arguments only read. So
a digest may change for a change without meaning, but changes for every one with meaning inside the method.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

NORMALISER = 3  # changes with what is left out; recorded digests of another one are refused
DIGEST = 16  # hexadecimal digits
LEFT_OUT = {"line_comment", "block_comment", "marker_annotation", "annotation", "throws"}
WHOLE = {"string_literal", "character_literal"}
DECLARED = "variable_declarator"
CREATION = "object_creation_expression"

LOGGERS = {"LOG", "LOGGER", "log", "logger"}
LOGS = {"trace", "debug", "info", "warn", "error"}
# What an argument of a logger may call: an accessor without arguments, or `Long.toHexString(zxid)`.
ACCESSOR = re.compile(r"(get|is|has|to)(?!And|Next)[A-Z]\w*|length|size|name")
HELPER = re.compile(r"Long\.toHexString|ZxidUtils\.zxidToString")

# A node that declares local variables: how many nodes above it their scope ends.
SCOPES = {
    "local_variable_declaration": 1, "formal_parameter": 2, "spread_parameter": 2, "catch_formal_parameter": 1,
    "resource": 2, "enhanced_for_statement": 0, "lambda_expression": 0, "inferred_parameters": 1,
}  # fmt: skip
# The child of a node that is an identifier, but names no variable.
NO_VARIABLE = {
    "method_invocation": "name", "field_access": "field", "method_declaration": "name",
    "constructor_declaration": "name", "class_declaration": "name", "labeled_statement": "", "break_statement": "",
    "continue_statement": "", "scoped_identifier": "", "marker_annotation": "", "annotation": "",
    "element_value_pair": "key",
}  # fmt: skip


@dataclass(frozen=True)
class Local:
    """A local variable or a parameter.

    Attributes:
        type: the node of its type; None where it is inferred.
        declarator: the node that declares it.
        start, end: the bytes between which its name means it.
    """

    type: Node | None
    declarator: Node
    start: int
    end: int


class Normal:
    """The tokens of a method or of a field.

    Args:
        top: its node in the tree, or several, in their order.
    """

    def __init__(self, *top: Node) -> None:
        self.top = top

    @cached_property
    def digest(self) -> str:
        """The words `a b` and `ab` have different ones."""
        return sha256("\x1f".join(self.words()).encode(errors="surrogateescape")).hexdigest()[:DIGEST]

    def words(self) -> Iterator[str]:
        """Yield the tokens that a digest covers."""
        for node in self.covered():
            if node.type in WHOLE or node.child_count == 0:
                yield text_of(node)

    def covered(self) -> Iterator[Node]:
        """Yield the nodes that a digest covers, inner ones included."""
        left = [*reversed(self.top)]
        while left:
            node = left.pop()
            if node.type not in LEFT_OUT and not only_logs(node):
                yield node
                left += reversed(node.children if node.type not in WHOLE else [])

    @cached_property
    def locals(self) -> dict[str, list[Local]]:
        """The local variables by name, those of lambdas and nested classes included, in their order."""
        out: dict[str, list[Local]] = {}
        for node in self.covered():
            if node.type in SCOPES:
                for name, declarator in declared_by(node):
                    local = Local(type_of(node), declarator, name.start_byte, end_of_scope(node))
                    out.setdefault(text_of(name), []).append(local)
        return out

    def local(self, identifier: Node) -> Local | None:
        """Return the variable that an identifier names; None if it names none of them."""
        at = identifier.start_byte
        known = self.locals.get(text_of(identifier), ()) if names_a_variable(identifier) else ()
        return next((local for local in reversed(known) if local.start <= at < local.end), None)


def text_of(node: Node | None) -> str:
    """Return the source of a node; empty for None. Bytes that are not UTF-8 stay apart."""
    return "" if node is None or node.text is None else node.text.decode(errors="surrogateescape")


# --- local variables -------------------------------------------------------------------------------


def declared_by(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield the names that a node of `SCOPES` declares, each with the node that declares it."""
    if node.type in ("inferred_parameters", "lambda_expression"):
        one = node.child_by_field_name("parameters")
        names = node.named_children if node.type == "inferred_parameters" else [one] if one is not None else []
        yield from ((name, node) for name in names if name.type == "identifier")
        return
    inside = [n for n in node.children if n.type == DECLARED] or [node]
    for declarator in inside:
        name = declarator.child_by_field_name("name")
        if name is not None:
            yield name, declarator


def type_of(node: Node) -> Node | None:
    """Return the node of the type that a node of `SCOPES` declares its variables as."""
    if node.type == "spread_parameter":
        return next((n for n in node.named_children if n.type != "modifiers"), None)
    return node.child_by_field_name("type")


def end_of_scope(node: Node) -> int:
    """Return where the names that a node declares end."""
    for _ in range(SCOPES[node.type]):
        node = node.parent or node
    if node.type == "switch_block_statement_group":
        node = node.parent or node
    return node.end_byte


def names_a_variable(identifier: Node) -> bool:
    """Return whether an identifier stands where a variable, a field or a class can be named, not a method or label."""
    above = identifier.parent
    if above is None or identifier.type != "identifier":
        return False
    if above.type == "method_reference":
        return above.children[0] == identifier
    field = NO_VARIABLE.get(above.type)
    return field is None or (field != "" and above.child_by_field_name(field) != identifier)


# --- what only logs --------------------------------------------------------------------------------


def only_logs(statement: Node) -> bool:
    """Return whether a statement is a call of a logger whose arguments change nothing."""
    if statement.type != "expression_statement":
        return False
    call = statement.children[0]
    of, name = call.child_by_field_name("object"), call.child_by_field_name("name")
    arguments = call.child_by_field_name("arguments")
    if arguments is None or text_of(of) not in LOGGERS or text_of(name) not in LOGS:
        return False
    left = [arguments]
    while left:
        node = left.pop()
        if node.type in ("assignment_expression", "update_expression", CREATION):
            return False
        if node.type == "method_invocation" and not only_reads(node):
            return False
        left += node.children
    return True


def only_reads(call: Node) -> bool:
    """Return whether a call only reads, by its name."""
    name, of = text_of(call.child_by_field_name("name")), text_of(call.child_by_field_name("object"))
    arguments = call.child_by_field_name("arguments")
    bare = arguments is not None and arguments.named_child_count == 0
    return HELPER.fullmatch(f"{of}.{name}") is not None or (bare and ACCESSOR.fullmatch(name) is not None)
