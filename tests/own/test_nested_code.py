"""Every pass over code sees nested code, and every pass over the code that runs sees all of it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace

import pytest
from click.testing import CliRunner

from benchmarks.zookeeper_matrix import does
from checker.cli import main
from checker.proofs.symbolic.assumptions import counts
from traces.judging.observed import names_of, reached
from traces.zookeeper.conform.search import drains_first
from zabspec.authoring.alternatives import Alternatives
from zabspec.authoring.closing import Walk
from zabspec.authoring.unused import unused
from zabspec.language.layout.bytecode import functions_that_run, global_names, names_in
from zabspec.language.python.arithmetic import may_overflow
from zabspec.language.python.reference import OPERATIONS
from zabspec.language.python.sentences import with_sentences
from zabspec.model import Configuration, Model

# Where a construct may be; user protocols have `IN_LANGUAGE` alone, and kernels the rest too.
PLACES = {
    "set": "    return len({q for q in range(s.NODES) if HERE}) == 0",
    "set in a conditional": "    return len({q for q in range(s.NODES) if HERE}) == 0 if s.NODES > 1 else True",
    "conditional": "    q = 0\n    return False if HERE else True",
    "element": "    return [HERE for q in range(s.NODES)] == []",
    "generator": "    return not any(HERE for q in range(s.NODES))",
    "nested twice": "    return not any(HERE for k in range(2) for q in {r for r in (k, 1) if any(HERE for q in [r])})",
    "lambda": "    return not (lambda q: HERE)(0)",
    "inner function": "    def inner(q):\n        return HERE\n    return not inner(0)",
    "default": "    q = 0\n    def inner(given=HERE):\n        return given\n    return not inner()",
    "match": "    q = 0\n    match s.NODES:\n        case 1 if HERE:\n            return False\n    return True",
    "match subject": "    q = 0\n    match HERE:\n        case True:\n            return False\n    return True",
}
IN_LANGUAGE = ["set", "conditional"]
HEAD = """from __future__ import annotations
from typing import Annotated
from zabcheck.language import (
    Each, Fields, Node, Range, Variant, action, broken, choose, declare, disconnect, is_quorum, safety, stored,
)
BOUND = 3
def helper(s, q):
    return s.x[q] > BOUND
def chooses(s):
    return choose(s, 2) == 0
def closes(s, q):
    disconnect(s, q)
"""


def loaded(path: Path, text: str) -> ModuleType:
    """The module of a source, whose functions have a file."""
    path.write_text(text)
    loader = SourceFileLoader(path.stem, str(path))
    module = module_from_spec(spec_from_loader(path.stem, loader))
    loader.exec_module(module)
    return module


def ways(f: FunctionType) -> bool:
    return Alternatives({}).ways(f) > 1


# What each pass looks for, and what it says of a function that has it.
PASSES: dict[str, tuple[str, Callable[[FunctionType], bool]]] = {
    "product": ("s.x[q] * s.x[q] < 0", may_overflow),
    "shift": ("s.x[q] << 60 < 0", may_overflow),
    "sentence": ("not broken('x')", lambda f: with_sentences(f) is not f.__code__),
    "field": ("s.begins_left == 3", lambda f: "begins_left" in names_in(f.__code__) - global_names(f.__code__)),
    "call": ("helper(s, q)", lambda f: [g.__name__ for g in functions_that_run([f])] == ["f", "helper"]),
    "constant of a call": ("helper(s, q)", lambda f: reached(f).get("BOUND") == 3 and "x" in names_of(f)),
    "choice": ("choose(s, 2) == 0", ways),
    "choice of a call": ("chooses(s)", ways),
    "closing": ("disconnect(s, q)", lambda f: Walk({"f": f}, ()).matters("f")),
    "closing in a call": ("closes(s, q)", lambda f: not Walk({"f": f, "closes": f.__globals__["closes"]}, ()).begins(
        "closes")),
    "quorum": ("is_quorum(s, s.seen)", lambda f: "is_quorum" in global_names(f.__code__)),
    "order": ("drain(s) and fast_forward(s)", drains_first),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", PASSES)
def test_a_pass_sees_its_construct_in_every_place(tmp_path: Path, name: str, place: str) -> None:
    """And does not see it where it is not."""
    construct, sees = PASSES[name]
    both = (PLACES[place].replace("HERE", text) for text in (construct, "s.x[q] == 3"))
    there, absent = (loaded(tmp_path / f"m{k}.py", f"{HEAD}def f(s):\n{body}\n").f for k, body in enumerate(both))
    assert (sees(there), sees(absent)) == (True, False)


@pytest.mark.parametrize("place", PLACES)
def test_two_texts_of_a_release_differ_in_what_their_nested_code_does(tmp_path: Path, place: str) -> None:
    """By a number, a truth value for a number, or a name; not by a line, a docstring or their own names."""
    texts = ["def f(s):\n", "\n\ndef g(s):\n    'It says something.'\n"]
    one, same = (loaded(tmp_path / f"s{k}.py", f"{HEAD}{head}{PLACES[place]}\n".replace("HERE", "s.x[q] == 1"))
                 for k, head in enumerate(texts))  # fmt: skip
    assert does(one.f) == does(same.g)
    for k, other in enumerate(("s.x[q] == 2", "s.x[q] == True", "s.y[q] == 1")):
        text = f"{HEAD}{texts[0]}{PLACES[place]}\n".replace("HERE", other)
        assert does(loaded(tmp_path / f"d{k}.py", text).f) != does(one.f)


PROTOCOL = """


class State(Fields):
    x: Each[Node, Annotated[int, Range(0, 1099511627776)]] = stored("x")


def low(s: State, p: Node) -> bool:
    return s.x[p] < 2


def seen(s: State, q: Node) -> bool:
    return s.x[q] > 0


@action(when=low, budget="begins")
def begin(s: State, p: Node) -> None:
    s.x[p] += STEP


def begun(s: State) -> bool:
    \"\"\"One has begun.\"\"\"
    return s.x[0] > 0


@safety(witness=begun)
def few(s: State) -> bool:
    \"\"\"No process has begun too often.\"\"\"
BODY


PROTOCOL = declare(__name__, nodes=2, budgets={"begins": 2})
"""


def protocol(folder: Path, place: str, construct: str, step: str = "1") -> Model:
    text = (HEAD + PROTOCOL).replace("BODY", PLACES[place].replace("HERE", construct)).replace("STEP", step)
    (folder / "mine.py").write_text(text)
    return Model(Configuration(str(folder / "mine.py")))


@pytest.mark.parametrize("place", IN_LANGUAGE)
def test_a_protocol_is_judged_by_all_its_code(tmp_path: Path, place: str) -> None:
    """What is left of a budget, and what calls a function, count in nested code; so does a product in all engines."""
    assert counts(protocol(tmp_path, place, "s.x[q] + s.begins_left > 2"), "begins")
    assert not counts(protocol(tmp_path, place, "s.x[q] > 2"), "begins")
    assert unused(protocol(tmp_path, place, "s.x[q] > 2")) == ["nothing calls seen (mine.py:24)"]
    assert unused(protocol(tmp_path, place, "seen(s, q) and s.x[q] > 2")) == []
    protocol(tmp_path, place, "s.x[q] * s.x[q] < 0", str(2**40))
    for engine in ([], ["--engine", "interpret"]):
        result = CliRunner().invoke(main, ["--protocol", str(tmp_path / "mine.py"), *engine])
        assert result.exit_code == 1, engine
        assert "it would be 1099511627776 * 1099511627776" in " ".join(result.stdout.split()), engine


def test_what_only_the_module_of_a_variant_reads_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget that it reads is counted, under that variant; a function of the protocol that it calls is used."""
    monkeypatch.syspath_prepend(str(tmp_path))
    protocol(tmp_path, "set", "s.x[q] > 2")
    mine = tmp_path / "mine.py"
    mine.write_text(mine.read_text().replace('"begins": 2}', '"begins": 2}, variants="mine_lax"'))
    (tmp_path / "mine_lax.py").write_text(
        """from __future__ import annotations
from zabcheck.language import Node, State, Variant
def enough(s: State) -> bool:
    return s.begins_left > 0
def lax(s: State, p: Node) -> bool:
    return seen(s, p) or enough(s)
VARIANTS = {"lax": Variant("lax", "It begins at any time.", {"low": lax})}
"""
    )
    plain, variant = (Model(Configuration(str(mine), variant=name)) for name in ("", "lax"))
    assert (counts(plain, "begins"), counts(variant, "begins")) == (False, True)
    assert unused(plain) == []


@pytest.mark.parametrize("engine", ["compiled", "interpret"])
@pytest.mark.parametrize(("test", "code"), [("==", 0), ("!=", 1)])
def test_a_set_that_is_made_equals_a_field_with_its_members(folder: Path, engine: str, test: str, code: int) -> None:
    text = (HEAD + PROTOCOL).replace("BODY", "    return {q for q in range(s.NODES) if s.x[q] < 0} TEST s.seen_by[0]")
    text = text.replace("TEST", test).replace("STEP", "1")
    text = text.replace('stored("x")', 'stored("x")\n    seen_by: Each[Node, set[Node]] = stored("x")')
    (folder / "mine.py").write_text(text)
    result = CliRunner().invoke(main, ["--protocol", "mine.py", "--engine", engine])
    assert result.exit_code == code, result.output


def test_a_place_that_is_multiplied_may_have_a_product_in_its_index(tmp_path: Path) -> None:
    f = loaded(tmp_path / "m.py", "def f(s, a, b):\n    s.x[a * b] *= a * b\n").f
    s = SimpleNamespace(x=[1, 1, 3])
    FunctionType(with_sentences(f, frozenset()), dict(OPERATIONS))(s, 1, 2)
    assert s.x == [1, 1, 6]
