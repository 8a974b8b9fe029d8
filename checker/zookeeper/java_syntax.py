"""Compute digests of Java methods: of their syntax without comments, logging, metrics and layout.

`CONTRIBUTING.md` ("When ZooKeeper changes") describes `--drift`, which compares them.

What is left out cannot change what a method does to ZAB. Where that is uncertain, nothing is left out: a call in the
argument of a logger stays unless it is a plain accessor. So a digest may change for a change without meaning, but
changes for every one with meaning inside the method.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

__all__ = ["NORMALISER", "JavaClass", "JavaFile", "Method", "MissingParser", "Unparsed", "read_java"]

NORMALISER = 1  # changes with the normal form; recorded digests of another one are refused
DIGEST = 16  # hexadecimal digits
DEEPEST = 20  # levels of nested statements that are searched for logging
TYPES = ("class_declaration", "interface_declaration", "enum_declaration", "record_declaration")
BODIES = {"consequence", "alternative", "body"}  # fields whose statement may have braces or not
WITH_BODY = {"if_statement", "for_statement", "enhanced_for_statement", "while_statement", "do_statement"}
LEFT_OUT = {"line_comment", "block_comment", "marker_annotation", "annotation"}
SEQUENCES = {"block", "constructor_body", "switch_block_statement_group"}  # in which `;` is an empty statement
DECLARED = "variable_declarator"
VISIBILITY = {"public", "protected", "private", "final"}
WHOLE = {"string_literal", "character_literal"}
CASE = re.compile(r"\bLeader\.([A-Z]+)\b")
WORD = re.compile(r"[\w$]+|[^\w\s]+")

LOGGERS = {"LOG", "LOGGER", "log", "logger", "ZooTrace"}
METRICS = {"ServerMetrics"}
STATISTICS = {"serverStats"}  # a method: `zks.serverStats().incrementPacketsReceived()`
CHANGES = {"assignment_expression", "update_expression"}
ACCESSOR = re.compile(r"(get|is|has|to|as)(?!And)[A-Z]\w*|length|size|name|ordinal|hashCode|toString|\w+ToString")
HELPER = re.compile(r"(to|zxid|format|value|current)\w*|nanoTime|join")  # of a class: `Long.toHexString(zxid)`


class MissingParser(RuntimeError):
    """The parser of Java is not installed; the message says how to install it."""


class Unparsed(ValueError):
    """A file is not Java that the parser knows; the message says where it stops."""


@dataclass(frozen=True)
class Method:
    """A parsed method.

    Attributes:
        name: of the method.
        parameters: the types of its parameters, between commas.
        line: where it begins.
        digest: of its syntax.
        cases: by a packet's type the digest of what is done for it; "": of what is in no such case.
    """

    name: str
    parameters: str
    line: int
    digest: str
    cases: dict[str, str]


@dataclass(frozen=True)
class JavaClass:
    """A class of a file, nested ones included.

    Attributes:
        name: its simple name.
        above: the simple name of its superclass; empty if none is named.
        body: its body in the tree.
    """

    name: str
    above: str
    body: Node

    def methods(self, name: str) -> list[Method]:
        """Return the methods of a name that the class declares, overloads in their order."""
        return [digested(node) for node in self.declared() if text_of(node.child_by_field_name("name")) == name]

    def names(self) -> Iterator[str]:
        """Yield the names of the methods that the class declares."""
        for node in self.declared():
            yield text_of(node.child_by_field_name("name"))

    def declared(self) -> Iterator[Node]:
        for node in self.body.children:
            if node.type in ("method_declaration", "constructor_declaration"):
                yield node
            elif node.type == "enum_body_declarations":
                yield from (n for n in node.children if n.type == "method_declaration")


@dataclass(frozen=True)
class JavaFile:
    """The classes of a file by their simple names."""

    classes: dict[str, JavaClass]


@cache
def parser() -> Parser:
    """Return the parser of Java.

    Raises:
        MissingParser: it is not installed.
    """
    try:
        import tree_sitter
        import tree_sitter_java
    except ImportError:
        raise MissingParser("--drift needs a parser of Java, which `pip install 'zabcheck[drift]'` installs") from None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_java.language()))


def read_java(source: bytes) -> JavaFile:
    """Return the classes of a file.

    Raises:
        MissingParser: there is no parser.
        Unparsed: the parser does not understand all of it.
    """
    root = parser().parse(source).root_node
    if root.has_error:
        raise Unparsed(f"line {first_error(root)} is not Java that the parser knows")
    classes: dict[str, JavaClass] = {}
    left = [root]
    while left:
        node = left.pop()
        if node.type in TYPES:
            body = node.child_by_field_name("body")
            name = text_of(node.child_by_field_name("name"))
            if body is not None and name not in classes:
                classes[name] = JavaClass(name, superclass(node), body)
        if node.type in TYPES or node.type.endswith(("_body", "_body_declarations")) or node is root:
            left += reversed(node.children)
    return JavaFile(classes)


def first_error(root: Node) -> int:
    """Return the number of the line at which the parser stops."""
    node = root
    while True:
        inside = next((n for n in node.children if n.has_error or n.is_missing), None)
        if inside is None or node.is_error:
            return int(node.start_point[0]) + 1
        node = inside


def superclass(node: Node) -> str:
    """Return the simple name of the class that a class extends."""
    above = node.child_by_field_name("superclass")
    if above is None:
        return ""
    named = text_of(above).removeprefix("extends").split("<")[0]
    return named.strip().split(".")[-1]


def text_of(node: Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode(errors="replace")


# --- digests --------------------------------------------------------------------------------------


def digested(node: Node) -> Method:
    """Return a method with its digest."""
    parameters = node.child_by_field_name("parameters")
    types = []
    for one in parameters.named_children if parameters is not None else ():
        if one.type in ("formal_parameter", "spread_parameter"):
            types.append(" ".join(tokens(one.child_by_field_name("type") or one)))
    cases: dict[str, list[str]] = {}
    for case, word in cased_tokens(node):
        cases.setdefault(case, []).append(word)
    return Method(
        text_of(node.child_by_field_name("name")),
        ", ".join(types),
        int(node.start_point[0]) + 1,
        digest_of(tokens(node)),
        {case: digest_of(words) for case, words in cases.items()},
    )


def digest_of(words: Iterable[str]) -> str:
    return sha256("\x1f".join(words).encode()).hexdigest()[:DIGEST]


def tokens(top: Node) -> Iterator[str]:
    """Yield the tokens under a node that a digest covers."""
    return (word for _, word in cased_tokens(top))


def cased_tokens(top: Node) -> Iterator[tuple[str, str]]:
    """Yield the tokens under a node that a digest covers, each with the innermost case that contains it.

    A case is one of a packet's type (`case Leader.COMMIT:`, `if (qp.getType() == Leader.DIFF)`), or "" for none. A body
    of one statement has braces, whether or not it is written with them.
    """
    left: list[tuple[str, Node | str]] = [("", top)]
    while left:
        case, node = left.pop()
        if isinstance(node, str):
            yield case, node
        elif node.type in LEFT_OUT or (node.type in VISIBILITY and node.child_count == 0):
            continue
        elif node.type in WHOLE:
            yield case, text_of(node)
        elif node.child_count == 0:
            yield from ((case, word) for word in WORD.findall(text_of(node)))
        elif not is_silent(node):
            inner, then = case_of(node)
            for part in reversed(parts(node)):
                left.append((inner if inner and (then is None or part == then) else case, part))


def case_of(node: Node) -> tuple[str, Node | None]:
    """Return the case that a node begins, and the part of the node that is in it, or None for all of it."""
    if node.type == "switch_block_statement_group":
        labels = " ".join(text_of(n) for group in run_of(node) for n in group.children if n.type == "switch_label")
        return "/".join(dict.fromkeys(CASE.findall(labels))), None
    if node.type == "if_statement":
        named = CASE.findall(text_of(node.child_by_field_name("condition")))
        return "/".join(dict.fromkeys(named)), node.child_by_field_name("consequence")
    return "", None


def is_only_one(declarator: Node) -> bool:
    """Return whether a declaration has one variable, so that `byte a[]` is `byte[] a`; `byte a[], b` has two."""
    above = declarator.parent
    return above is not None and sum(n.type == DECLARED for n in above.children) == 1


def is_created(arguments: Node) -> bool:
    """Return whether type arguments are those of `new`, which the compiler can infer."""
    generic = arguments.parent
    new = generic.parent if generic is not None else None
    return new is not None and new.type == "object_creation_expression" and new.child_by_field_name("type") == generic


def run_of(group: Node) -> list[Node]:
    """Return the labels that share a group's statements.

    They are those before it that have no statements, and, if it has none, those after it up to the first that has.
    """
    out = [group]
    while (before := out[0].prev_named_sibling) is not None and falls_through(before):
        out.insert(0, before)
    while falls_through(out[-1]) and (after := out[-1].next_named_sibling) is not None:
        out.append(after)
    return out


def falls_through(group: Node) -> bool:
    """Return whether a group of a switch has labels and nothing else."""
    return group.type == "switch_block_statement_group" and all(
        n.type in ("switch_label", *LEFT_OUT) for n in group.named_children
    )


def parts(node: Node) -> list[Node | str]:
    """Return the parts of a node, in order."""
    if node.type == DECLARED and is_only_one(node):
        return [n for n in node.children if n.type != "dimensions"]
    if node.type == "type_arguments" and is_created(node):
        return ["<", ">"]
    out: list[Node | str] = []
    for k, child in enumerate(node.children):
        bare = node.type in WITH_BODY and node.field_name_for_child(k) in BODIES
        if child.type == ";" and node.type in SEQUENCES:
            continue
        if child.type == DECLARED and is_only_one(child):
            out += [n for n in child.children if n.type == "dimensions"]
        if bare and node.type == "if_statement" and node.field_name_for_child(k) == "alternative" and is_silent(child):
            out = [n for n in out if isinstance(n, str) or n.type != "else"]
        elif bare and child.type != "block":
            out += ["{", "}"] if child.type == ";" else ["{", child, "}"]
        elif child.type == "block" and is_silent(child) and node.type != "block":
            out += ["{", "}"]
        else:
            out.append(child)
    return out


def is_silent(node: Node, depth: int = 0) -> bool:
    """Return whether a statement only logs or measures, so that leaving it out changes nothing else.

    A block of such statements is one, too.
    """
    if depth > DEEPEST:
        return False
    if node.type == "expression_statement":
        return only_logs(node.children[0])
    if node.type == "block":
        return all(n.type in "{};" or n.type in LEFT_OUT or is_silent(n, depth + 1) for n in node.children)
    if node.type == "if_statement":
        condition, then = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        other = node.child_by_field_name("alternative")
        if condition is None or then is None or is_loud(condition):
            return False
        return is_silent(then, depth + 1) and (other is None or is_silent(other, depth + 1))
    return False


def only_logs(node: Node) -> bool:
    """Return whether an expression is a call of a logger or a metric whose arguments change nothing."""
    if node.type != "method_invocation":
        return False
    chain, at = [], node
    while at is not None and at.type in ("method_invocation", "field_access"):
        chain.append(at)
        inner = at.child_by_field_name("object")
        if inner is None:
            break
        at = inner
    names = {text_of(n.child_by_field_name("name")) for n in chain[1:] if n.type == "method_invocation"}
    first = text_of(at) if at.type == "identifier" else ""
    if first not in LOGGERS | METRICS and not (names & STATISTICS):
        return False
    arguments = [n.child_by_field_name("arguments") for n in chain]
    return not any(is_loud(n) for n in arguments if n is not None)


def is_loud(top: Node) -> bool:
    """Return whether evaluating an expression may do more than read: assign, or call anything but a plain accessor."""
    left = [top]
    while left:
        node = left.pop()
        if node.type in CHANGES:
            return True
        if node.type == "method_invocation" and not is_plain(node):
            return True
        left += node.children
    return False


def is_plain(call: Node) -> bool:
    """Return whether a call only reads, by its name: an accessor without arguments, or a helper of a class."""
    name, of = text_of(call.child_by_field_name("name")), call.child_by_field_name("object")
    arguments = call.child_by_field_name("arguments")
    if arguments is not None and arguments.named_child_count == 0 and ACCESSOR.fullmatch(name):
        return True
    return of is not None and text_of(of)[:1].isupper() and HELPER.fullmatch(name) is not None
