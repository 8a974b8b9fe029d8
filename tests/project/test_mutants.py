"""The mutator: what it changes, and what its warm process says of a change (benchmarks/results/mutants.md)."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.mutants.campaign import ROOT, Campaign, Tree
from tests.mutants.edits import mutants_of, sampled
from tests.mutants.killers import KILLERS, Killers, killers_of

TEXT = '''
"""Words."""

from a import b

__all__ = ["f"]
SIZE: int = 3


def f(s: State, p: int, q: int = 2) -> bool:
    """More words."""
    x = 1
    if p < q and not s.ready:
        g(s, p, q)
        x = 2
    for k in range(p):
        if k == x:
            break
    return p == q
'''


def test_every_kind_of_edit_is_made() -> None:
    """Each of the text below, in words; nothing else is changed."""
    lines = {m.sentence.split(": ", 1)[1] for m in mutants_of("t.py", TEXT)}
    assert {m.split(": ")[0] for m in lines} == {
        "constant", "comparison", "condition", "boolean", "operator", "statement", "arguments"
    }  # fmt: skip
    assert {
        "constant: `3` becomes `4`",
        "constant: `3` becomes `2`",
        "comparison: `p < q` becomes `(p <= q)`",
        "comparison: `p < q` becomes `(p >= q)`",
        "condition: `p < q and not s.ready` becomes `True`",
        "condition: `p < q and not s.ready` becomes `False`",
        "boolean: `p < q and not s.ready` becomes `((p < q) or (not s.ready))`",
        "boolean: `p < q and not s.ready` becomes `((p < q))`",
        "operator: `not s.ready` becomes `s.ready`",
        "statement: `g(s, p, q)` becomes `pass`",
        "statement: `x = 2` becomes `pass`",
        "statement: `break` becomes `pass`",
        "arguments: `p, q` becomes `q, p`",
        "comparison: `k == x` becomes `(k != x)`",
        "condition: `p == q` becomes `False`",
    } <= lines
    assert not [m for m in lines if "words" in m or "all" in m or "State" in m or m.startswith("arguments: `s")]


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("path", ["traces/record/verification.py", "zabspec/worlds/datagrams.py"])
def test_every_mutant_is_another_program(path: str) -> None:
    """It can be read, and no two are the same; the statement it lies in is where it says."""
    text = (ROOT / path).read_text(encoding="utf-8")
    mutants = mutants_of(path, text)
    trees = Counter(ast.dump(ast.parse(m.applied(text))) for m in mutants)
    assert max(trees.values()) == 1
    assert ast.dump(ast.parse(text)) not in trees
    for m in mutants:
        assert m.line <= m.at <= m.last
        assert text.encode()[m.start : m.end].decode() == m.before


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    path = "traces/record/verification.py"
    mutants = mutants_of(path, (ROOT / path).read_text(encoding="utf-8"))
    assert sampled(mutants, 80, 1) == sampled(mutants, 80, 1) != sampled(mutants, 80, 2)
    assert len(set(sampled(mutants, 80, 1))) == 80
    assert sampled(mutants, 10_000, 1) == mutants


@pytest.fixture(scope="module")
def tree() -> Iterator[Tree]:
    with Tree(1, tables=False) as tree:
        yield tree


ORDER = "tests/protocols/test_paper.py::test_III_zxids_are_ordered_by_epoch_then_counter"
QUORUMS = "tests/protocols/test_paper.py::test_II_1_any_two_quorums_intersect[3]"


@pytest.mark.parametrize(
    ("before", "after", "how", "test"),
    [
        ("t.counter <= u.counter", "t.counter <= u.counter", "survived", ""),
        ("t.counter <= u.counter", "t.counter < u.counter", "failed", ORDER),
        ("def zxid_le(t: Txn", "def zxid_le(t Txn", "import", ""),
        ("t.epoch < u.epoch or", "t.epoch // u.epoch or", "failed", ORDER),
    ],
    ids=["as it is", "fails a test", "cannot be read", "raises"],
)
@pytest.mark.slow(seconds=1)
def test_a_mutant_is_judged_and_the_tree_is_as_it_was(tree: Tree, before: str, after: str, how: str, test: str) -> None:
    """The tests are run in order, to the first that fails; the checkout is never touched."""
    path = "zabspec/zab.py"
    whole = (ROOT / path).read_text(encoding="utf-8")
    text = whole.replace(before, after)
    answer = tree.warm[0].ask(file=path, text=text, batches=[{QUORUMS: 0.1}, {ORDER: 0.1}], wall=60)
    assert (answer["how"], answer["test"]) == (how, test) or (how == "import" == answer["how"])
    assert (tree.warm[0].tree / path).read_text(encoding="utf-8") == whole
    assert (ROOT / path).read_text(encoding="utf-8") == whole


@pytest.mark.slow(seconds=2)
def test_a_mutant_that_never_ends_is_out_of_time(tree: Tree) -> None:
    path = "zabspec/zab.py"
    whole = (ROOT / path).read_text(encoding="utf-8")
    text = whole.replace("    return t.epoch < u.epoch or", "    while True: pass\n    return t.epoch < u.epoch or")
    answer = tree.warm[0].ask(file=path, text=text, batches=[{ORDER: -0.45}], wall=60)  # leaves it 0.3 s
    assert (answer["how"], answer["test"]) == ("out of time", ORDER)


def test_tests_that_run_the_line_come_first_and_counts_last() -> None:
    mutant = next(m for m in mutants_of("t.py", TEXT) if m.inside)
    costs = {"a::test_counts[x]": 0.0, "a::test_far": 0.1, "a::test_near": 0.1, "a::test_dear": 2.0}
    campaign = Campaign([mutant.path], Killers((), ()), costs, {"a::test_near": {mutant.path: {mutant.line}}})
    order = [name for batch in campaign.batches(mutant) for name in batch]
    assert order == ["a::test_near", "a::test_far", "a::test_dear", "a::test_counts[x]"]
    plain = Campaign([mutant.path], Killers((), (), plain=True), costs, campaign.lines)
    assert [list(batch) for batch in plain.batches(mutant)] == [["a::test_near"]]


def test_killers_are_named_of_files_there_are() -> None:
    for killers in KILLERS:
        for pattern in killers.files:
            assert list(ROOT.glob(pattern)), pattern
        for test in killers.tests:
            path, _, name = test.partition("::")
            assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), test
    with pytest.raises(KeyError):
        killers_of("README.md")


def test_the_figures_name_every_survivor_that_they_count() -> None:
    """A row says how many of a file's mutants survive; each is in a table, with the reason why it may."""
    tables = json.loads((ROOT / "benchmarks/results/mutants.json").read_text(encoding="utf-8"))
    survivors = Counter((campaign, path) for campaign, path, *_ in tables["survivors"]["rows"])
    for campaign, path, of, killed, survived, *_ in tables["judged"]["rows"]:
        judged, there_are = map(int, of.split(" of "))
        assert killed + survived == judged <= there_are, path
        assert survivors.pop((campaign, path), 0) == survived, path
    assert not survivors
    assert all(why for *_, why in tables["survivors"]["rows"])
