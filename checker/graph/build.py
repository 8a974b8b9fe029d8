"""Build the graph of a model's states and the steps between them, as a graph of `networkx`.

With symmetry a node is an orbit: one state for all its renamings. Every run of the model follows a path of the
graph, up to renaming, and every path from the first node is a run. Nothing is left out but what lies beyond a depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checker.explore.compiled import Compiled
from checker.explore.result import Exploration
from invariants.registry import STEP
from traces.pages.markup import FORBIDDEN
from traces.record.runner import label_of
from traces.record.trace import StepWord
from zabspec.language.python.reference import StateView

if TYPE_CHECKING:
    import networkx as nx

MOST_STATES = 200_000  # networkx uses about two kilobytes for a state and its steps
FIRST = 0  # the node of the initial state


@dataclass
class Builder:
    """Builds the graph of a model.

    Attributes:
        code: the model in machine code, with every step.
        depth: states of this depth are not expanded; None to expand all.
    """

    code: Compiled
    depth: int | None

    def __post_init__(self) -> None:
        import networkx as nx

        code = self.code
        budget = code.model.configuration.budget
        self.budgets = tuple(name for name, n in budget.items() if n and f"{name}_left" in code.layout.fields)
        self.amounts = tuple(budget[name] for name in self.budgets)
        self.of_states = sum(1 << k for k, p in enumerate(code.properties) if p.of != STEP)
        self.of_steps = sum(1 << k for k, p in enumerate(code.properties) if p.of == STEP)
        self.size = code.layout.size
        self.nodes: dict[int, int] = {}  # by fingerprint
        self.images: list[bytes] = []
        self.labels: dict[tuple[int, int], str] = {}
        self.graph: nx.DiGraph[int] = nx.DiGraph()
        self.generated = 0

    def build(self) -> nx.DiGraph[int]:
        """Build the graph, breadth-first: a node's number is its position in the order of discovery."""
        self.node(self.code.model.program.initial().key(), 0)
        place = 0
        while place < len(self.images):
            data = self.graph.nodes[place]
            if self.depth is None or data["depth"] < self.depth:
                self.expand(place, data["depth"] + 1)
                data["expanded"] = True
            place += 1
        return self.graph

    def node(self, state: bytes, depth: int) -> int:
        """Return the node of a state, and add it if there is none."""
        fingerprint, image = self.code.canonical(state)
        found = self.nodes.get(fingerprint)
        if found is not None:
            return found
        number = self.nodes[fingerprint] = len(self.images)
        self.images.append(image)
        broken = self.code.judge_state(self.code.state(image), self.of_states) if self.of_states else 0
        self.graph.add_node(
            number, depth=depth, expanded=False, violates=self.names(broken), spent=self.spent(image),
            fingerprint=f"{fingerprint & (1 << 64) - 1:016x}",
        )  # fmt: skip
        return number

    def expand(self, number: int, depth: int) -> None:
        """Add every step from a node."""
        image = self.images[number]
        for word, after in self.code.next_states(image):
            self.generated += 1
            target = self.node(after[: self.size], depth)
            broken = self.names(self.code.breaks(image, after, self.of_steps))
            edge: dict[str, Any] = {"steps": (), "violates": (), "violates_always": broken}
            if self.graph.has_edge(number, target):
                edge = self.graph.edges[number, target]
            label = self.label(word, after)
            self.graph.add_edge(
                number,
                target,
                steps=tuple(dict.fromkeys([*edge["steps"], label])),
                violates=tuple(dict.fromkeys([*edge["violates"], *broken])),
                violates_always=tuple(name for name in edge["violates_always"] if name in broken),
            )

    def names(self, mask: int) -> tuple[str, ...]:
        return tuple(p.name for k, p in enumerate(self.code.properties) if mask >> k & 1)

    def spent(self, state: bytes) -> tuple[int, ...]:
        """Return how much of each budget every run to a state has spent: a state has what is left."""
        view = StateView(self.code.layout, state) if self.budgets else None
        left = (int(getattr(view, f"{name}_left")) for name in self.budgets)
        return tuple(most - there for most, there in zip(self.amounts, left, strict=True))

    def label(self, word: int, after: bytes) -> str:
        """Return the name of a step."""
        entered = int(StateView(self.code.layout, after).steps)
        key = (word & 0xFFFFFFFF, entered)
        if key not in self.labels:
            self.labels[key] = label_of(self.code.model.program, StepWord.of(word), entered)
        return self.labels[key]


def graph_of(code: Compiled, found: Exploration, depth: int | None, about: Mapping[str, Any]) -> nx.DiGraph[int]:
    """Build the graph of an explored model, with every step, as far as it was explored.

    A node has its `depth`, whether it is `expanded`, the properties that it `violates`, what is `spent` of each budget,
    and its `fingerprint`. An edge has the `steps` that lead from the one node to the other, by name, and the properties
    that one of them `violates`; `violates_always` has those that all of them violate.

    Args:
        code: the model, with stuttering receipts as steps.
        found: its exploration, with which the graph is compared.
        depth: the depth of the graph; None for exhaustion.
        about: a description of the graph.

    Raises:
        AssertionError: graph and exploration differ, a bug of zabcheck.
    """
    made = Builder(code, depth)
    graph = made.build()
    levels = [0] * (max(d for _, d in graph.nodes(data="depth")) + 1)
    for _, at in graph.nodes(data="depth"):
        levels[at] += 1
    first: dict[str, int] = {}
    for at, names in violations(graph):
        for name in names:
            first[name] = min(at, first.get(name, at))
    wanted = {name: v.depth for name, v in found.violations.items()}
    if (levels, made.generated, first) != (list(found.levels), found.generated, wanted):
        raise AssertionError(f"the graph has {levels, made.generated, first}, and the exploration {found}")
    graph.graph.update(
        about,
        states=len(graph),
        complete=all(expanded for _, expanded in graph.nodes(data="expanded")),
        symmetry=code.symmetry,
        properties=tuple(p.name for p in code.properties),
        budgets=made.budgets,
        **({} if depth is None else {"depth": depth}),
    )
    return graph


def violations(graph: nx.DiGraph[int]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Return the properties that states and steps violate, each with the depth of its first violation."""
    for _, data in graph.nodes(data=True):
        yield data["depth"], data["violates"]
    for a, _, names in graph.edges(data="violates"):
        yield graph.nodes[a]["depth"] + 1, names


def names_of_step(label: str) -> frozenset[str]:
    """Return the names in a step's label: one step may be several of the paper's."""
    return frozenset(label.split(", "))


def graphml_of(graph: nx.DiGraph[Any]) -> str:
    """Return a graph whose attributes are texts, numbers, truth values and tuples of these as GraphML.

    Characters that XML has not are replaced.
    """
    import networkx as nx

    clean: nx.DiGraph[Any] = nx.DiGraph(**cleaned(graph.graph))
    clean.add_nodes_from((node, cleaned(data)) for node, data in graph.nodes(data=True))
    clean.add_edges_from((a, b, cleaned(data)) for a, b, data in graph.edges(data=True))
    lines = nx.generate_graphml(clean, named_key_ids=True)
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', *lines]) + "\n"


def cleaned(data: dict[str, Any]) -> dict[str, Any]:
    """Convert attributes for GraphML: join several values by semicolons, replace characters invalid in XML."""
    told = {k: "; ".join(map(str, v)) if isinstance(v, tuple) else v for k, v in data.items()}
    return {k: FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", v) if isinstance(v, str) else v for k, v in told.items()}
