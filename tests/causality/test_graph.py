"""The graph of what happens before what, from each source, and the cone of an event."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import zabcheck
from checker.errors import RequestError
from checker.requests.export import Export
from tests.small_tables import small_table
from traces import Trace, build_trace
from traces.causality.graph import ABCAST, ABDELIVER, BROADCASTS, MESSAGES, Event, Events, cone, graph_of, precedence
from traces.causality.graphml import graphml_of
from traces.events.recorded import rows_of_run
from traces.record.runner import Runner
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.second.definitions import Row, Story
from zabspec.simulator.run import Run

EXAMPLES = Path(__file__).parents[2] / "examples"
ASKED = Configuration(nodes=3, txns=2, timeouts=2, crashes=1, losses=1)


def walk(configuration: Configuration, seed: int, length: int) -> Trace:
    """A random run."""
    import random

    source, model = random.Random(seed), Model(configuration)
    runner, words = Runner(model), []
    for _ in range(length):
        possible = runner.possible()
        if not possible:
            break
        words.append(source.choice(possible))
        runner.step(words[-1])
    return build_trace(model, None, words)


def figure_3() -> Trace:
    """The shortest run of zab that breaks causal order."""
    found = zabcheck.explore(nodes=2, txns=2, timeouts=1, crashes=0, losses=0, properties=["dsn-causal-order"])
    trace = found["dsn-causal-order"].trace
    assert isinstance(trace, Trace)
    return trace


# --- broadcasts: Definition III.1 ------------------------------------------------------------------


def of_rows(rows: Iterable[Row]) -> Events:
    """The broadcasts and deliveries of a run that is given as rows."""
    told = [r for r in rows if r["kind"] in (ABCAST, ABDELIVER)]
    txns = [tuple(r[c] for c in ("identity", "epoch", "counter")) for r in told]
    events = [Event(k, r["process"], r["kind"], "", 0, t) for k, (r, t) in enumerate(zip(told, txns, strict=True))]
    return Events(BROADCASTS, "rows", events)


def test_broadcasts_are_ordered_as_the_naive_judge_orders_them() -> None:
    seen: Counter[int] = Counter()
    for seed in range(300):
        rows = small_table(seed)
        story = Story([r for r in rows if r["kind"] != "run"], ("identity", "epoch", "counter"), 3)
        wanted = {(t, u) for t, u in story.happened_before if t != u}
        assert precedence(graph_of(of_rows(rows))) == wanted, (seed, rows)
        seen[len(wanted)] += 1
    assert len(seen) > 5, seen


def test_a_trace_and_its_file_have_the_same_order(tmp_path: Path) -> None:
    trace = figure_3()
    graphs = [zabcheck.causal_graph(x) for x in (trace, saved(trace, tmp_path))]
    assert [d["text"] for _, d in graphs[0].nodes(data=True)] == [
        "p1 abcasts t1 <1,1>", "p1 abcasts t2 <2,1>", "p0 delivers t2 <2,1>",
    ]  # fmt: skip
    assert [precedence(g) for g in graphs] == [{("t1 <1,1>", "t2 <2,1>")}] * 2
    assert nx.get_node_attributes(graphs[1], "time") == {1: 14, 2: 31, 3: 36}


def saved(trace: Trace, folder: Path) -> Path:
    from traces import write_trace

    write_trace(trace, folder / "run.trace.json")
    return folder / "run.trace.json"


def test_what_a_handler_does_in_a_step_is_in_its_order() -> None:
    """A process of the causal broadcast broadcasts and delivers in one step."""
    found = zabcheck.explore(EXAMPLES / "causal_broadcast.py", txns=2, properties=["strict-causality"])
    graph = zabcheck.causal_graph(found["strict-causality"].trace)
    edges = {(graph.nodes[a]["text"], graph.nodes[b]["text"]) for a, b in graph.edges}
    assert ("p0 abcasts t1 <1,1>", "p0 delivers t1 <1,1>") in edges
    assert graph.edges[1, 2]["why"] == "process, broadcast"
    assert precedence(graph) == set()


def test_a_simulated_run_and_its_rows_have_the_same_order() -> None:
    run = Run(14, rounds=500, proposals=4)
    columns = rows_of_run(run, 7).columns
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    one, other = zabcheck.causal_graph(run), graph_of(of_rows(rows))
    assert len(one) == len(other) > 8
    assert len(precedence(one)) == len(precedence(other)) > 0
    assert precedence(one) == precedence(zabcheck.causal_graph(zabcheck.simulate(seed=14, rounds=500, proposals=4)))


# --- messages --------------------------------------------------------------------------------------


def sender(trace: Trace, number: int) -> int | None:
    """Which step sent what a step received, by what the trace numbers; None: it received nothing."""
    m = trace.steps[number - 1].message
    if m is None or trace.steps[number - 1].word.row.loses:
        return None
    for step in trace.steps[:number]:
        for s in step.sent:
            ends = (s.source, s.destination, s.connection, s.number, s.kind, s.fields)
            if ends == (m.source, m.destination, m.connection, m.number, m.kind, m.fields):
                return step.number
    raise AssertionError


@pytest.mark.parametrize(
    "configuration",
    [ASKED, Configuration("db19", nodes=3, txns=2, timeouts=3, heartbeats=2, drops=1)],
    ids=lambda c: c.protocol,
)
def test_messages_are_edges_and_nothing_else_is(configuration: Configuration) -> None:
    received = 0
    for seed in range(6):
        trace = walk(configuration, seed, 60)
        graph = zabcheck.causal_graph(trace, MESSAGES)
        wanted = {(s, k) for k in range(1, len(trace.steps) + 1) if (s := sender(trace, k)) is not None}
        received += len(wanted)
        last: dict[int, int] = {}
        for step in trace.steps:
            if step.process is not None:
                wanted |= {(last[step.process], step.number)} if step.process in last else set()
                last[step.process] = step.number
        assert set(graph.edges) == wanted
        assert all(a < b for a, b in graph.edges)
    assert received > 50


def test_every_receipt_of_a_simulated_run_has_its_sending() -> None:
    graph = zabcheck.causal_graph(Run(14, rounds=400, proposals=3), MESSAGES)
    assert nx.is_directed_acyclic_graph(graph)
    kinds = nx.get_node_attributes(graph, "kind")
    receipts = [n for n, kind in kinds.items() if kind == "deliver"]
    assert len(receipts) > 50
    for n in receipts:
        (sent,) = [a for a in graph.predecessors(n) if graph.edges[a, n]["why"].split(", ")[-1] != "process"]
        assert kinds[sent] == "send"
        assert graph.nodes[sent]["time"] <= graph.nodes[n]["time"]


def test_the_cone_of_a_step_is_what_leads_to_it() -> None:
    trace = figure_3()
    graph = zabcheck.causal_graph(trace, MESSAGES)
    naive = {36}
    for number in range(36, 0, -1):
        if number in naive:
            p = trace.steps[number - 1].process
            before = [s.number for s in trace.steps[: number - 1] if s.process == p]
            naive |= {*before[-1:], *(s for s in [sender(trace, number)] if s is not None)}
    assert cone(graph, 36) == naive
    assert {(a, b) for a in (1, 9) for b in cone(graph, a, future=True)} == {
        (a, b) for a in (1, 9) for b in graph if a in cone(graph, b)
    }
    with pytest.raises(KeyError):
        cone(graph, 37)
    with pytest.raises(ValueError, match="ordered by the relation broadcasts"):
        precedence(graph)


def test_a_picture_of_a_cone_draws_faintly_what_is_outside(tmp_path: Path) -> None:
    trace = figure_3()
    path = str(saved(trace, tmp_path))
    inside = cone(zabcheck.causal_graph(trace, MESSAGES), 8)
    drawn = Export(path, "svg", cone=8).answer().data.decode()
    faint = drawn.count('<g opacity="0.2"><g class="step"')
    assert faint == 36 - len(inside) > 0
    assert "Faint steps: no chain of messages leads from them to step 8." in drawn
    assert "opacity" not in Export(path, "svg").answer().data.decode()
    page = Export(path, "html", cone=8).answer().data.decode()
    assert page.count('<g opacity="0.2"><g class="step"') == 2 * faint  # as for a phone, and as for what is wider
    with pytest.raises(RequestError, match="the steps of this run are 1 to 36"):
        Export(path, "svg", cone=0).answer()
    with pytest.raises(RequestError, match="--cone is for a picture: --to html, svg or png"):
        Export(path, "graphml", cone=3).answer()
    with pytest.raises(RequestError, match="--relation is for --to graphml"):
        Export(path, "svg", relation="messages").answer()
    with pytest.raises(RequestError, match="there is no relation 'nope'"):
        Export(path, "graphml", relation="nope").answer()


def test_what_a_step_did_before_its_run_time_error_is_not_in_the_graph(tmp_path: Path) -> None:
    """It delivers, and then fails: a step that fails changes nothing."""
    text = (EXAMPLES / "causal_broadcast.py").read_text()
    text = text.replace("from zabcheck.language import (\n", "from zabcheck.language import (\n    Range,\n", 1)
    text = text.replace(
        "class State(Fields):\n",
        'class State(Fields):\n    mark: Each[Node, Annotated[int, Range(0, 1)]] = stored("a mark")\n',
        1,
    )
    text = text.replace("    abdeliver(s, p, t)\n", "    abdeliver(s, p, t)\n    s.mark[p] = s.mark[p] + 2\n")
    (tmp_path / "failing.py").write_text(text)
    found = zabcheck.explore(tmp_path / "failing.py", nodes=2, txns=2, properties=["integrity"])
    trace = found["no-runtime-error"].trace
    assert isinstance(trace, Trace)
    assert len(zabcheck.causal_graph(trace)) == 0
    assert len(zabcheck.causal_graph(trace, MESSAGES)) == len(trace.steps) == 1


def test_a_run_that_begins_elsewhere_says_what_is_missing() -> None:
    text = str(Path(__file__).parents[1] / "own" / "texts" / "ledger.py")
    started = next(iter(PROTOCOLS[text].declared.starts))
    trace = walk(Configuration(text, start=started.name), 1, 4)
    said = zabcheck.causal_graph(trace, MESSAGES).graph["incomplete"]
    assert said == f"the run begins in the state {started.name!r}: the steps before it are missing"


# --- GraphML, and what is refused ------------------------------------------------------------------


def test_graphml_is_read_again_as_the_graph(tmp_path: Path) -> None:
    path = str(saved(figure_3(), tmp_path))
    for relation in ("", "broadcasts"):
        data = Export(path, "graphml", relation=relation).answer().data
        read = nx.read_graphml(io.BytesIO(data), node_type=int)
        graph = zabcheck.causal_graph(path, relation or MESSAGES)
        assert dict(read.nodes(data=True)) == dict(graph.nodes(data=True))
        assert {(a, b): d["why"] for a, b, d in read.edges(data=True)} == nx.get_edge_attributes(graph, "why")
        assert read.graph["relation"] == (relation or MESSAGES)


def test_graphml_has_no_character_that_xml_has_not() -> None:
    graph = nx.DiGraph()
    graph.add_node(1, text="a\x00b<&>\ud800")
    read = nx.read_graphml(io.BytesIO(graphml_of(graph).encode()), node_type=int)
    assert read.nodes[1]["text"] == "a\N{REPLACEMENT CHARACTER}b<&>\N{REPLACEMENT CHARACTER}"


def test_what_is_no_run_is_refused_in_a_sentence(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "json").write_text("{}")
    given: list[tuple[Any, dict[str, Any], str]] = [
        (tmp_path / "nothing", {}, "cannot read .*nothing: No such file"),
        (tmp_path / "pipe", {}, "cannot read .*pipe: this is not a regular file"),
        (tmp_path, {}, "Is a directory"),
        (tmp_path / "json", {}, "is not a"),
        (figure_3(), {"relation": "message"}, "there is no relation 'message'; .* did you mean messages"),
        (17, {}, "not int"),
        ([], {}, "not list"),
        (Run(1, 3, 50, 0, protocol=str(EXAMPLES / "token_ring.py")), {}, "has no transactions"),
        (walk(Configuration(str(EXAMPLES / "token_ring.py")), 1, 3), {}, "has no transactions"),
    ]
    for run, options, said in given:
        with pytest.raises(RequestError, match=said):
            zabcheck.causal_graph(run, **options)


TOP = Path(__file__).parents[2]
PAGE = TOP / "docs" / "how-to" / "traces-and-pictures.md"
EXAMPLE = r"<!-- example: causal-graph -->\n```python\n(.*?)```\n\n<!-- output -->\n```text\n(.*?)```"


def test_the_example_of_the_page_says_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    [(program, output)] = re.findall(EXAMPLE, PAGE.read_text(), flags=re.DOTALL)
    exec(compile(program, str(PAGE), "exec"), {})
    assert capsys.readouterr().out == output


def test_networkx_is_imported_only_for_a_graph() -> None:
    program = "import sys, zabcheck; zabcheck.explore, zabcheck.causal_graph; assert 'networkx' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=TOP)
