"""The graph of a model's states is what the CPython world says, and the command and its report say what it is of."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import zabcheck
from checker.errors import NoVerdict, RequestError
from checker.explore.compiled import Compiled
from checker.explore.result import Exploration
from checker.graph.build import graph_of, graphml_of
from checker.graph.questions import answers, least_budgets, steps_of_all
from checker.requests.base.model import ModelRequest
from checker.requests.graph import GraphRequest
from tests.commands.running import run
from tests.models import DEFAULT, python_successors
from zabspec.model import Configuration, Model

TOP = Path(__file__).parents[2]
NO_FAULTS = {"timeouts": 0, "crashes": 0, "losses": 0}
SMALL = {"nodes": 2, "txns": 1, **NO_FAULTS}
QUORUM = {"variant": "small-quorum", **SMALL}
RING = str(TOP / "examples" / "token_ring.py")


def in_python(configuration: Configuration, depth: int | None) -> nx.DiGraph[int]:
    """The same graph, made in the CPython world without fingerprints."""
    size = Model(configuration).program.layout.size
    first = Model(configuration).program.initial().key()
    numbers, states, depths = {first: 0}, [first], [0]
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_node(0)
    at = 0
    while at < len(states):
        if depth is None or depths[at] < depth:
            for _, after in python_successors(configuration, states[at]):
                target = after[:size]
                if target not in numbers:
                    numbers[target] = len(states)
                    states.append(target)
                    depths.append(depths[at] + 1)
                graph.add_edge(at, numbers[target])
        at += 1
    return graph


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(
    ("configuration", "depth"),
    [
        (Configuration(nodes=2, txns=1, timeouts=1, crashes=0, losses=0), None),
        (Configuration(nodes=2, txns=1, timeouts=0, crashes=1, losses=1), 12),
        (Configuration(RING, budgets="entries=2,passes=2,mints=1"), None),
    ],
    ids=["timeout", "crash", "ring"],
)
def test_the_graph_is_that_of_the_interpreted_world(configuration: Configuration, depth: int | None) -> None:
    c = configuration
    own = {"budgets": {"entries": 2, "passes": 2, "mints": 1}} if c.protocol == RING else {
        "timeouts": c.timeouts, "crashes": c.crashes, "losses": c.losses, "txns": c.txns,
    }  # fmt: skip
    options: dict[str, Any] = {"nodes": c.nodes, **own, **({} if depth is None else {"depth": depth})}
    graph = zabcheck.graph(c.protocol, symmetry=False, **options).graph
    plain = in_python(c, depth)
    assert len(graph) > 30
    assert set(graph.edges) == set(plain.edges)
    shortest = nx.single_source_shortest_path_length(plain, 0)
    assert nx.get_node_attributes(graph, "depth") == shortest
    assert graph.graph["complete"] == (depth is None)
    assert [n for n, expanded in graph.nodes(data="expanded") if not expanded] == [
        n for n, d in shortest.items() if d == depth
    ]


@pytest.mark.slow(seconds=1)
def test_the_graph_has_the_states_and_violations_of_the_exploration() -> None:
    for symmetry in (True, False):
        found = zabcheck.explore(**QUORUM, keep_going=True, symmetry=symmetry)
        graph = zabcheck.graph(**QUORUM, symmetry=symmetry).graph
        assert len(graph) == found.states
        broken = {name: said.depth for name in graph.graph["properties"] if (said := answers(graph, name)) is not None}
        assert broken == {name: v.at for name, v in found.violations.items()} != {}


def test_a_graph_that_differs_from_its_exploration_is_a_bug() -> None:
    code, _ = Compiled.of(Model(Configuration(**SMALL)), DEFAULT, True, True)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="the graph has"):
        graph_of(code, Exploration(DEFAULT), None, {})


def test_a_step_that_violates_is_on_its_edge() -> None:
    graph = zabcheck.graph(nodes=2, txns=2, **NO_FAULTS, network="unordered", properties=["invariant-2"]).graph
    found = answers(graph, "invariant-2")
    assert found is not None
    assert (found.depth, found.states) == (17, ())
    assert {graph.edges[e]["steps"] for e in found.edges} <= {("f.3.2",), ("f.3.3",)}
    doomed, no_return = found.certainty.doomed, set(found.certainty.no_return)
    assert {e for e in found.edges if e[0] not in doomed} <= no_return
    assert all(a not in doomed and (b in doomed or (a, b) in found.edges) for a, b in no_return)


def test_budgets_are_what_every_run_to_a_state_has_spent() -> None:
    graph = zabcheck.graph(nodes=2, txns=1, timeouts=1, crashes=1, losses=0, depth=10).graph
    assert graph.graph["budgets"] == ("timeouts", "crashes")
    for a, b, steps in graph.edges(data="steps"):
        before, after = graph.nodes[a]["spent"], graph.nodes[b]["spent"]
        paid = tuple(y - x for x, y in zip(before, after, strict=True))
        assert paid == (int("timeout" in steps), int("crash" in steps)), steps


@pytest.mark.slow(seconds=2)
def test_with_one_less_of_the_least_budgets_there_is_no_violation() -> None:
    """Explorations say so: any one fault lets a process lead twice, and without one none does."""
    asked = {"nodes": 2, "txns": 2, "depth": 37, "properties": ["dsn-causal-order"]}
    graph = zabcheck.graph(**asked, timeouts=1, crashes=0, losses=1).graph  # type: ignore[arg-type]
    least = least_budgets(graph, "dsn-causal-order")
    assert least == ({"timeouts": 1}, {"losses": 1})
    for budgets in ({}, *least):
        found = zabcheck.explore(**asked, **(NO_FAULTS | budgets), keep_going=True)  # type: ignore[arg-type]
        assert (found["dsn-causal-order"].verdict == "violated") == bool(budgets)


def test_a_graph_that_is_cut_says_so_in_every_answer() -> None:
    request = ModelRequest(variant="small-quorum", nodes=2, txns=1, budgets=NO_FAULTS)
    whole = GraphRequest(**vars(request), properties=("durability",)).answer()
    cut = GraphRequest(**vars(request), properties=("durability",), depth=11).answer()
    texts = [re.sub(r"\s+", " ", "\n".join(str(p) for p in report.parts())) for report in (whole, cut)]
    assert "Of every run that violates it within these budgets:" in texts[0]
    assert "Of every run that violates it within these budgets and has at most 11 steps:" in texts[1]
    assert "all of them" in texts[0]
    assert "cut at depth 11" in texts[1]
    assert "unknown" not in texts[0]
    assert "unknown" in texts[1]
    assert all("The graph gives no verdict" in text for text in texts)
    assert (whole.exit_code, cut.exit_code) == (1, 1)
    shallow = GraphRequest(**vars(request), properties=("durability",), depth=3).answer()
    assert shallow.exit_code == 0
    assert "no state or step of this graph violates a property" in shallow.sentence
    assert {v.verdict for v in shallow.said()} == {"no verdict"}


def test_what_the_report_says_of_a_variant() -> None:
    """A quorum of one: the process that delivers alone needs no other's acceptance."""
    graph = zabcheck.graph(**QUORUM).graph
    assert "f.3.2" not in steps_of_all(graph, "delivered-is-chosen")
    assert {"abcast", "l.2.2", "f.3.3"} <= set(steps_of_all(graph, "delivered-is-chosen"))
    assert answers(graph, "integrity") is None


# --- the command, and what is refused ----------------------------------------------------------------

FLAGS = (
    "--variant",
    "small-quorum",
    "--nodes",
    "2",
    "--txns",
    "1",
    "--timeouts",
    "0",
    "--crashes",
    "0",
    "--losses",
    "0",
)


def test_the_command_writes_the_graph(tmp_path: Path) -> None:
    path = tmp_path / "states.graphml"
    done = run("graph", *FLAGS, "--output", str(path))
    assert done.exit_code == 1, done.output
    read = nx.read_graphml(path, node_type=int)
    graph = zabcheck.graph(**QUORUM).graph
    assert set(read.edges) == set(graph.edges)
    assert read.nodes[3]["depth"] == graph.nodes[3]["depth"]
    assert {tuple(v.split("; ")) if v else () for _, v in read.nodes(data="violates")} == {
        v for _, v in graph.nodes(data="violates")
    }
    said = json.loads(run("graph", *FLAGS, "--json").stdout)
    assert said["states"] == len(graph)
    assert [v["property"] for v in said["violations"]] == [
        "one-leader-an-epoch", "delivered-is-chosen", "durability",
    ]  # fmt: skip
    assert said["complete"] is True


def test_properties_of_terminal_states_are_not_judged_and_named() -> None:
    sizes = {"nodes": 2, "txns": 1, "timeouts": 0, "crashes": 0, "losses": 0}
    assert zabcheck.graph("ladis", **sizes).graph.graph["not_judged"] == ("reliable-delivery",)
    with pytest.raises(
        RequestError, match="not checked against reliable-delivery: it is a property of terminal states"
    ):
        zabcheck.graph("ladis", **sizes, properties=["reliable-delivery"])


def test_the_limit_is_how_many_states_a_graph_may_have() -> None:
    assert len(zabcheck.graph(**SMALL, max_states=46).graph) == 46
    with pytest.raises(RequestError, match="more than 45 states"):
        zabcheck.graph(**SMALL, max_states=45)


def test_a_graph_that_ends_before_its_depth_is_whole() -> None:
    graphs = [zabcheck.graph(**SMALL, depth=depth).graph for depth in (20, 21, 22)]
    assert [(len(g), g.graph["complete"]) for g in graphs] == [(45, False), (46, False), (46, True)]


def test_more_properties_than_a_graph_judges_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checker.explore.kernel.MOST_PROPERTIES", 3)
    with pytest.raises(RequestError, match="checked against at most 3 properties: name them"):
        zabcheck.graph(**SMALL)


def test_a_pipe_is_no_place_for_a_graph(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = run("graph", *FLAGS, "--output", str(tmp_path / "pipe"))
    assert (done.exit_code, done.stdout) == (2, "")


def test_a_run_time_error_makes_no_graph(tmp_path: Path) -> None:
    text = Path(RING).read_text().replace("s.entered[p] += 1", "s.entered[p] += 2")
    (tmp_path / "ring.py").write_text(text)
    with pytest.raises(NoVerdict, match="no graph: "):
        zabcheck.graph(tmp_path / "ring.py", budgets={"entries": 1, "passes": 0, "mints": 0})


PAGE = TOP / "docs" / "how-to" / "traces-and-pictures.md"
EXAMPLE = r"<!-- example: %s -->\n```python\n(.*?)```\n\n<!-- output -->\n```text\n(.*?)```"


def test_the_example_of_the_page_says_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text()
    assert text.count("```python") == 1
    [(program, output)] = re.findall(EXAMPLE % "state-graph", text, flags=re.DOTALL)
    exec(compile(program, str(PAGE), "exec"), {})
    assert capsys.readouterr().out == output


def test_graphml_has_no_character_that_xml_has_not() -> None:
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_node(1, text="a\x00b<&>\ud800", both=("p", 1))
    read = nx.read_graphml(io.BytesIO(graphml_of(graph).encode()), node_type=int)
    assert read.nodes[1] == {"text": "a\N{REPLACEMENT CHARACTER}b<&>\N{REPLACEMENT CHARACTER}", "both": "p; 1"}
