"""Compute digests of Java methods and fields: of their syntax without what cannot change what ZooKeeper does.

Left out are comments, layout, annotations, visibility, `throws`, logging, metrics, variables that only these read, the
names of local variables, and the words of exceptions. Where that is uncertain, nothing is left out: a call in the
argument of a logger stays unless it is a plain accessor. So a digest may change for a change without meaning, but
changes for every one with meaning inside the method.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from checker.zookeeper.java_locals import Local, Locals, nodes_under, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

NORMALISER = 2  # changes with the normal form; recorded digests of another one are refused
DIGEST = 16  # hexadecimal digits
DEEPEST = 20  # levels of nested statements that are searched for logging
BODIES = {"consequence", "alternative", "body"}  # fields whose statement may have braces or not
WITH_BODY = {"if_statement", "for_statement", "enhanced_for_statement", "while_statement", "do_statement"}
LEFT_OUT = {"line_comment", "block_comment", "marker_annotation", "annotation", "throws"}
SEQUENCES = {"block", "constructor_body", "switch_block_statement_group"}  # in which `;` is an empty statement
DECLARED = "variable_declarator"
DECLARATION = "local_variable_declaration"
VISIBILITY = {"public", "protected", "private", "final"}
WHOLE = {"string_literal", "character_literal"}
CASE = re.compile(r"\bLeader\.([A-Z]+)\b")
WORD = re.compile(r"[\w$]+|[^\w\s]+")
# Where parentheses around an expression change nothing: it ends with them.
ENDS = {
    "return_statement",
    "throw_statement",
    "assert_statement",
    "argument_list",
    DECLARED,
    "parenthesized_expression",
}

LOGGERS = {"LOG", "LOGGER", "log", "logger", "RATE_LOGGER"}
LOGS = re.compile(r"trace|debug|info|warn|error|rateLimitLog|is(Trace|Debug|Info|Warn|Error)Enabled")
TRACES, TRACED = "ZooTrace", re.compile(r"log\w+|isTraceEnabled")
METRICS = {"ServerMetrics"}
STATISTICS = {"serverStats"}  # a method: `zks.serverStats().incrementPacketsReceived()`
CHANGES = {"assignment_expression", "update_expression"}
CREATION = "object_creation_expression"
HARMLESS = re.compile(r"\w*(Exception|Error|Throwable)|String|Date")  # classes of which an object may be created
ACCESSOR = re.compile(r"(get|is|has|to|as)(?!And|Next)[A-Z]\w*|length|size|name|ordinal|hashCode|toString|\w+ToString")
# Of a class: `Long.toHexString(zxid)`.
HELPER = re.compile(r"(to|zxid|format|value|current)\w*|\w+2String|nanoTime|join")


def digest_of(words: Iterable[str]) -> str:
    """Return the digest of words; the words `a b` and `ab` have different ones."""
    return sha256("\x1f".join(words).encode(errors="surrogateescape")).hexdigest()[:DIGEST]


class Normal:
    """The normal form of a method or of a field.

    Args:
        top: its node in the tree, or several, in their order.
    """

    def __init__(self, *top: Node) -> None:
        self.top = top
        self.locals = [Locals(node) for node in top]
        self.quiet: set[Local] = set()
        self.find_quiet()

    @cached_property
    def digest(self) -> str:
        return digest_of(self.words())

    @cached_property
    def cases(self) -> dict[str, str]:
        """By a packet's type the digest of what is done for it; "": of what is in no such case.

        A renamed variable is a difference here, so that one more variable makes none in the cases behind it.
        """
        cases: dict[str, list[str]] = {}
        for case, node in self.leaves():
            cases.setdefault(case, []).extend(words_of(node))
        return {case: digest_of(words) for case, words in cases.items()}

    def words(self) -> Iterator[str]:
        """Yield the words that a digest covers; a variable is a number, in the order in which they come."""
        numbers: dict[Local, str] = {}
        for _, node in self.leaves():
            local = self.local(node) if not isinstance(node, str) and node.type == "identifier" else None
            if local is not None:
                yield numbers.setdefault(local, f"%{len(numbers)}")
            else:
                yield from words_of(node)

    def local(self, node: Node) -> Local | None:
        """Return the variable that an identifier names, if that can be renamed."""
        for known in self.locals:
            if (found := known.of(node)) is not None:
                return None if found in known.hidden else found
        return None

    def leaves(self) -> Iterator[tuple[str, Node | str]]:
        """Yield the leaves that a digest covers, each with the innermost case that contains it."""
        for case, node in self.covered():
            if isinstance(node, str) or node.type in WHOLE or node.child_count == 0:
                yield case, '""' if not isinstance(node, str) and is_words_of_exception(node) else node

    def covered(self) -> Iterator[tuple[str, Node | str]]:
        """Yield the nodes that a digest covers, inner ones included, each with the innermost case that contains it.

        A case is one of a packet's type (`case Leader.COMMIT:`, `if (qp.getType() == Leader.DIFF)`), or "" for none.
        A body of one statement has braces, whether or not it is written with them.
        """
        left: list[tuple[str, Node | str]] = [("", node) for node in reversed(self.top)]
        while left:
            case, node = left.pop()
            if isinstance(node, str):
                yield case, node
            elif node.type in LEFT_OUT or (node.type in VISIBILITY and node.child_count == 0) or self.is_silent(node):
                continue
            else:
                yield case, node
                if node.type not in WHOLE:
                    inner, then = case_of(node)
                    for part in reversed(self.parts(node)):
                        left.append((inner if inner and (then is None or part == then) else case, part))

    def parts(self, node: Node) -> list[Node | str]:
        """Return the parts of a node, in order."""
        if node.type == DECLARED and is_only_one(node):
            return [n for n in node.children if n.type != "dimensions"]
        if node.type == "type_arguments" and is_created(node):
            return ["<", ">"]
        if node.type == "modifiers":
            return [*sorted(node.children, key=lambda n: n.type)]
        if node.type == "parenthesized_expression" and node.parent is not None and node.parent.type in ENDS:
            return [n for n in node.children if n.type not in "()"]
        out: list[Node | str] = []
        for k, child in enumerate(node.children):
            field = node.field_name_for_child(k)
            bare = node.type in WITH_BODY and field in BODIES
            if child.type == ";" and node.type in SEQUENCES:
                continue
            if child.type == DECLARED and is_only_one(child):
                out += [n for n in child.children if n.type == "dimensions"]
            if bare and node.type == "if_statement" and field == "alternative" and self.is_silent(child):
                out = [n for n in out if isinstance(n, str) or n.type != "else"]
            elif bare and child.type != "block":
                out += ["{", "}"] if child.type == ";" else ["{", child, "}"]
            elif child.type == "block" and self.is_silent(child) and node.type != "block":
                out += ["{", "}"]
            else:
                out.append(child)
        return out

    # --- what only logs or measures -----------------------------------------------------------------

    def is_silent(self, node: Node, depth: int = 0) -> bool:
        """Return whether a statement only logs or measures, so that leaving it out changes nothing else.

        A block of such statements is one, too.
        """
        if depth > DEEPEST:
            return False
        if node.type == "expression_statement":
            return only_logs(node.children[0]) or self.is_quiet(node)
        if node.type == DECLARATION:
            return self.is_quiet(node)
        if node.type == "block":
            return all(n.type in "{};" or n.type in LEFT_OUT or self.is_silent(n, depth + 1) for n in node.children)
        if node.type == "if_statement":
            condition, then = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
            other = node.child_by_field_name("alternative")
            if condition is None or then is None or is_loud(condition):
                return False
            return self.is_silent(then, depth + 1) and (other is None or self.is_silent(other, depth + 1))
        return False

    def is_quiet(self, statement: Node) -> bool:
        """Return whether a statement declares or assigns a variable that only logging and metrics read."""
        name = written_by(statement)
        return name is not None and any(known.of(name) in self.quiet for known in self.locals)

    def find_quiet(self) -> None:
        """Find the variables that only logging, metrics and one another's values read."""
        read: dict[Local, list[Node]] = {}
        for top, known in zip(self.top, self.locals, strict=True):
            for local in known.all:
                above = local.declarator.parent
                if above is not None and above.type == DECLARATION and local not in known.hidden:
                    read[local] = []
            for node in nodes_under(top):
                if node.type == "identifier" and (found := known.of(node)) is not None and found in read:
                    read[found].append(node)
        self.quiet = set(read)
        while read:
            loud = {local for local, nodes in read.items() if not all(self.is_unread(n) for n in nodes)}
            if not loud:
                break
            self.quiet -= loud
            read = {local: nodes for local, nodes in read.items() if local not in loud}

    def is_unread(self, identifier: Node) -> bool:
        """Return whether an occurrence of a variable is in a statement that is left out."""
        node: Node | None = identifier
        while node is not None and node not in self.top:
            if node.type in ("expression_statement", DECLARATION, "if_statement") and self.is_silent(node):
                return True
            node = node.parent
        return False


def words_of(node: Node | str) -> list[str]:
    """Return the words of a leaf."""
    if isinstance(node, str):
        return [node]
    return [text_of(node)] if node.type in WHOLE else WORD.findall(text_of(node))


def is_words_of_exception(literal: Node) -> bool:
    """Return whether a literal is, or is a part of, an argument of an exception that is thrown."""
    at = literal.parent
    while at is not None and at.type in ("binary_expression", "parenthesized_expression"):
        at = at.parent
    if (
        literal.type not in WHOLE
        or at is None
        or at.type != "argument_list"
        or (new := at.parent) is None
        or new.type != CREATION
    ):
        return False
    return new.parent is not None and new.parent.type == "throw_statement"


def written_by(statement: Node) -> Node | None:
    """Return the name that a statement declares or assigns, if that is all that it does."""
    if statement.type == DECLARATION:
        declared = [n for n in statement.children if n.type == DECLARED]
        value = declared[0].child_by_field_name("value") if len(declared) == 1 else None
        return None if len(declared) != 1 or is_loud(value) else declared[0].child_by_field_name("name")
    inner = statement.children[0]
    if inner.type != "assignment_expression" or is_loud(inner.child_by_field_name("right")):
        return None
    left = inner.child_by_field_name("left")
    return left if left is not None and left.type == "identifier" else None


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
    return new is not None and new.type == CREATION and new.child_by_field_name("type") == generic


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
    called = text_of(node.child_by_field_name("name"))
    logs = len(chain) == 1 and first in LOGGERS and LOGS.fullmatch(called)
    traces = len(chain) == 1 and first == TRACES and TRACED.fullmatch(called)
    if not (logs or traces or first in METRICS or names & STATISTICS):
        return False
    arguments = [n.child_by_field_name("arguments") for n in chain]
    return not any(is_loud(n) for n in arguments)


def is_loud(top: Node | None) -> bool:
    """Return whether an expression may do more than read: assign, create, or call anything but a plain accessor."""
    left = [top] if top is not None else []
    while left:
        node = left.pop()
        if node.type in CHANGES:
            return True
        if node.type == CREATION and not HARMLESS.fullmatch(text_of(node.child_by_field_name("type"))):
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
