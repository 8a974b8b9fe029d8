"""Report what a state graph shows about the properties that it violates. It never says that a property holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from checker.graph.questions import Answers, Edge, answers, grouped
from checker.report.answer import Answered, Picture
from checker.report.result import Part, Row, Table, Verdict, plural, some
from traces.explain.folding import fitted
from zabspec.worlds.steps import BUDGETS

if TYPE_CHECKING:
    import networkx as nx

FORMAT = 1
MOST_SHOWN = 6  # dominators, steps and budgets in a row
MOST_DRAWN = 80  # nodes
STEP, RED, BLUE = 36, "#cf222e", "#0969da"  # of a drawing: pixels from state to state, and colours


@dataclass(frozen=True, repr=False)
class Graphed(Answered):
    """A state graph, and the facts that hold for every violating run.

    Nothing is left out of the graph but what lies beyond `depth`. With symmetry, which is on unless it is turned off or
    the protocol distinguishes processes, a node is an orbit: it represents all renamings of its states.

    - A node is a state, numbered by discovery from 0: `depth`, `expanded` (its steps are in the graph), `violates`,
      `spent` (what every run to it has spent of the graph's `budgets`), `fingerprint`.
    - An edge is one step or several: `steps`, by name, `violates`, and `violates_always`, the properties that all of
      them violate.
    - The graph has `complete`, `depth` if it is cut, `symmetry`, `symmetry_off` (why it is off), `properties`,
      `not_judged`, `budgets`.

    `checker.graph.questions` evaluates it; docs/how-to/traces-and-pictures.md has an example.

    Attributes:
        graph: the graph.
        request: the one that it answers, as JSON.
        warnings: of the configuration, a line each.
    """

    graph: nx.DiGraph[int]
    request: Mapping[str, Any]
    warnings: Sequence[str] = ()

    kind = "graph"

    @cached_property
    def answers(self) -> Mapping[str, Answers]:
        """The facts about each property that the graph violates."""
        found = {name: answers(self.graph, name) for name in self.graph.graph["properties"]}
        return {name: each for name, each in found.items() if each is not None}

    @property
    def output(self) -> str:
        """The file that the graph was written to; empty if none."""
        return str(self.request.get("output", ""))

    @property
    def exit_code(self) -> int:
        """1 if a property is violated.

        0 if the graph is built, and none is. That is not a verdict that properties hold.
        """
        return 1 if self.answers else 0

    @property
    def scope(self) -> str:
        """The runs that every statement is about."""
        depth = self.graph.graph.get("depth")
        cut = "" if self.graph.graph["complete"] else f" and has at most {plural(depth, 'step')}"
        return f"within these budgets{cut}"

    @property
    def sentence(self) -> str:
        data = self.graph.graph
        broken = some([f"{name} at depth {a.depth}" for name, a in self.answers.items()])
        what = f"VIOLATED: {broken}" if broken else "no state or step of this graph violates a property"
        return f"{what}; {self.size}; {data['name'].removeprefix('the states of ')}"

    @property
    def size(self) -> str:
        data = self.graph.graph
        whole = "all of them" if data["complete"] else f"cut at depth {data['depth']}"
        orbits = "orbits" if data["symmetry"] else "states"
        return f"{len(self.graph):,} {orbits}, {whole}, and {self.graph.number_of_edges():,} edges"

    def said(self) -> Iterator[Verdict]:
        for name in self.graph.graph["properties"]:
            found = self.answers.get(name)
            yield Verdict(name, "no verdict") if found is None else Verdict(name, "violated", found.depth)

    def parts(self) -> Sequence[Part]:
        out: list[Part] = [fitted(self.sentence)]
        for a in self.answers.values():
            out.append(fitted(f"{a.name}. Of every run that violates it {self.scope}:"))
            out.append(Table([*self.rows(a)]))
        notes = ["The graph gives no verdict; zabcheck without a command does."]
        if self.graph.graph["symmetry"]:
            notes.append("A node is an orbit: one state represents all its renamings.")
        if left := self.graph.graph["not_judged"]:
            notes.append(f"Not checked here, since they are about terminal states: {', '.join(left)}.")
        if self.output:
            notes.append(f"The graph is in {self.output}.")
        return [*out, fitted("\n".join([*notes, *self.warnings]))]

    def picture(self) -> Picture:
        """Return a small graph as an SVG diagram, a row for each depth; empty if it has more than 80 nodes."""
        return Picture(drawn(self.graph, self.answers) if len(self.graph) <= MOST_DRAWN else "")

    def rows(self, a: Answers) -> Iterator[Row]:
        """Return the answer about a property, as rows."""
        where = ([plural(len(a.states), "state")] if a.states else []) + (
            [plural(len(a.edges), "edge")] if a.edges else []
        )
        yield "violated by", f"{' and '.join(where)}, first at depth {a.depth}"
        yield "takes each of", ", ".join(a.steps) or "no step is on all of them"
        yield "goes through", self.through(a.dominators)
        yield "spends at least", "; or ".join(budget_text(b) for b in a.least[:MOST_SHOWN]) + more(a.least)
        c = a.certainty
        yield "states are", ", ".join(f"{name} {count:,}" for name, count in c.counts.items() if count)
        yield "no return", self.edges(c.no_return)
        yield "ways out", self.edges(c.ways_out)

    def through(self, dominators: Sequence[int | Edge]) -> str:
        """Describe the dominators: states, each with the steps that are the only way on."""
        states = [d for d in dominators if isinstance(d, int)]
        edges = [d for d in dominators if not isinstance(d, int)]
        if not dominators:
            return "no state but the first"
        depth = self.graph.nodes(data="depth")
        texts = ", ".join(f"state {n} (depth {depth[n]})" for n in states[-MOST_SHOWN:])
        last = ", the last of them" if len(states) > MOST_SHOWN else ""
        said = f"{plural(len(states), 'state')}{last}: {texts}" if states else ""
        only = ", ".join(
            f"{a} to {b} by {' or '.join(self.graph.edges[a, b]['steps'])}" for a, b in edges[-MOST_SHOWN:]
        )
        last = ", the last of them" if len(edges) > MOST_SHOWN else ""
        return "; ".join(filter(None, [said, f"{plural(len(edges), 'edge')}{last}: {only}" if only else ""]))

    def edges(self, edges: Sequence[Edge]) -> str:
        """Describe edges by their steps."""
        groups = list(grouped(self.graph, edges))
        shown = ", ".join(f"{name} ({count:,})" for name, count in groups[:MOST_SHOWN])
        return f"{plural(len(edges), 'edge')}: {shown}{more(groups)}" if edges else "none"

    def as_json(self) -> dict[str, Any]:
        data = self.graph.graph
        return {
            "format": FORMAT,
            "sentence": self.sentence,
            "request": self.request,
            "states": len(self.graph),
            "edges": self.graph.number_of_edges(),
            "complete": data["complete"],
            "depth": data.get("depth"),
            "symmetry": data["symmetry"],
            "symmetry_off": data["symmetry_off"],
            "properties": list(data["properties"]),
            "not_judged": list(data["not_judged"]),
            "warnings": list(self.warnings),
            "violations": [answer_json(self.graph, a) for a in self.answers.values()],
            "output": self.output or None,
            "exit_code": self.exit_code,
        }


def drawn(graph: nx.DiGraph[int], broken: Mapping[str, Answers]) -> str:
    """Return a graph as SVG: states by depth from the top; those that violate a property are red."""
    levels: dict[int, list[int]] = {}
    for node, depth in graph.nodes(data="depth"):
        levels.setdefault(depth, []).append(node)
    width, bad = max(map(len, levels.values())), {n for a in broken.values() for n in a.states}
    at = {
        n: (STEP * (k + 0.5 + (width - len(level)) / 2), STEP * (depth + 0.5))
        for depth, level in levels.items()
        for k, n in enumerate(level)
    }
    edges = [
        f'<line x1="{at[a][0]}" y1="{at[a][1]}" x2="{at[b][0]}" y2="{at[b][1]}" stroke="#8c959f">'
        f"<title>{escape(', '.join(steps))}</title></line>"
        for a, b, steps in graph.edges(data="steps")
    ]
    nodes = [
        f'<circle cx="{x}" cy="{y}" r="{STEP / 4}" fill="{RED if n in bad else BLUE}"><title>state {n}</title></circle>'
        for n, (x, y) in at.items()
    ]
    size = f'width="{STEP * width}" height="{STEP * (max(levels) + 1)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join([*edges, *nodes])}</svg>'


def answer_json(graph: nx.DiGraph[int], a: Answers) -> dict[str, Any]:
    """Return the answer about a property, as JSON."""
    c = a.certainty
    return {
        "property": a.name,
        "depth": a.depth,
        "states": list(a.states),
        "edges": [list(e) for e in a.edges],
        "steps_of_all": list(a.steps),
        "dominators": [d if isinstance(d, int) else list(d) for d in a.dominators],
        "least_budgets": [dict(b) for b in a.least],
        "certainty": c.counts,
        "no_return": dict(grouped(graph, c.no_return)),
        "ways_out": dict(grouped(graph, c.ways_out)),
    }


def budget_text(amounts: Mapping[str, int]) -> str:
    """Return amounts of budgets in words."""
    said = [plural(n, BUDGETS[name].one) if name in BUDGETS else f"{name} {n}" for name, n in amounts.items()]
    return " and ".join(said) or "nothing"


def more(shown: Sequence[object]) -> str:
    """Return how many items are not shown, in words."""
    return f", and {len(shown) - MOST_SHOWN} more" if len(shown) > MOST_SHOWN else ""
