"""Type the sentence beside a property's False (`sentences.py`), which only CPython evaluates."""

from __future__ import annotations

import ast
from typing import Any

from zabspec.language.analysis import tree as t
from zabspec.language.front.expressions import Expressions
from zabspec.language.layout.source import LanguageError
from zabspec.language.python.sentences import MARK, pieces

WRITES = (t.Store, t.Copy, t.Clear, t.SetChange, t.Append, t.Remove, t.PutWord)


def said(node: ast.expr) -> bool:
    """Return whether a value is False with its sentence."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == MARK


class Sentences(Expressions):
    """Types sentences; nothing that it types stays in the program."""

    def check_sentence(self, node: ast.expr) -> None:
        """Check the sentence of a False: every place of it has a value, and nothing is changed by it."""
        assert isinstance(node, ast.Call)
        if self.is_handler:
            raise self.fail(node, f"{MARK}(...) is for properties, not for protocols")
        found = pieces(node.args[0]) if len(node.args) == 1 and not node.keywords else None
        if found is None:
            raise self.fail(node, f'{MARK}(...) takes one sentence: f"... {{p}} ..."')
        program = self.front.program
        sites, functions = len(program.sites), set(program.functions)
        reads, needs_state, names = set(self.reads), self.needs_state, dict(self.locals)
        for place in found[1]:
            if place.conversion != -1 or place.format_spec is not None:
                text = ast.unparse(place.value)
                raise self.fail(place.value, f"{{{text}}} in a sentence is written without `!` and `:`")
            self.check_place(place.value)
        del program.sites[sites:]
        for name in program.functions.keys() - functions:
            del program.functions[name], program.reads[name]
        self.reads, self.needs_state, self.locals = reads, needs_state, names

    def check_place(self, node: ast.expr) -> None:
        """Check the value of one place: a text, one of two, a set of processes given by a test, or a value."""
        match node:
            case ast.Constant(value=str()):
                return
            case ast.IfExp():
                self.truth(node.test)
                self.check_place(node.body)
                self.check_place(node.orelse)
                return
        try:
            value = self.expr(node)
        except LanguageError as problem:
            if node.lineno <= problem.line <= (node.end_lineno or node.lineno):
                raise
            raise self.fail(node, f"{{{ast.unparse(node)}}} in a sentence cannot be expressed: {problem}") from None
        if value.type in (t.VOID, t.STATE, t.WORDS, t.BYTES):
            raise self.fail(node, f"{{{ast.unparse(node)}}} is a {value.type.name}, which cannot appear in a sentence")
        if isinstance(node, ast.SetComp) and not (isinstance(value.type, t.SetType) and value.type.kind.nodes):
            raise self.fail(node, "a set in a sentence must be of processes: {q for q in range(s.NODES) if ...}")
        culprit = self.writing(value)
        if culprit:
            raise self.fail(node, f"a sentence cannot write, but {culprit} does")

    def writing(self, part: Any) -> str:
        """Return the name of a function that writes and that a part of the tree calls; empty if there is none."""
        for e in t.parts(part):
            if isinstance(e, t.Call) and self.may_write(e.function):
                made = self.front.function(e.function)
                return (made.within and self.writing(made.body)) or e.function
            if isinstance(e, t.Builtin) and e.type == t.VOID:
                return e.op
        return ""

    def may_write(self, function: str) -> bool:
        """Return whether a function writes, or one that it calls; each is analysed once."""
        known = self.front.writers.get(function)
        if known is None:
            target = self.front.function(function)
            known = target.paper_step is not None or writes(target.body) or bool(self.writing(target.body))
            self.front.writers[function] = known
        return known


def writes(body: list[t.Stmt]) -> bool:
    """Return whether statements write, not counting functions that they call."""
    return any(isinstance(s, WRITES) for s in t.statements(body))
