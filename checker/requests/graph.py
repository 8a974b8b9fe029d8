"""Build the graph of a model's states, and report on the properties that it violates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.output_files import save_file
from checker.requests.base.bounded import Checked, Depth, Symmetry
from checker.requests.base.model import ModelRequest
from checker.requests.base.request import Count, File, Option, function
from checker.requests.base.watch import QUIET, Watch
from checker.requests.exploring.exploration import ExplorationRequest

if TYPE_CHECKING:
    import networkx as nx

    from checker.graph.report import Graphed


@dataclass(frozen=True)
class GraphRequest(ModelRequest):
    """Build the graph of a model's states, and compute what every violating run has in common.

    For each violated property: which steps every such run takes, which states it passes, the least budgets that are
    enough, and from which states the violation is certain. All of this is about the graph: runs within the budgets
    and, with --depth, runs of at most that many steps.

    Exit codes: 0 no violation in the graph (which is not a verdict), 1 a violation, 2 the request is wrong, 3 no graph.

    Examples:
      zabcheck graph --variant small-quorum --nodes 2 --txns 1 --timeouts 0 --crashes 0 --losses 0
      zabcheck graph --nodes 2 --txns 1 --timeouts 1 --crashes 0 --losses 0 --output states.graphml
      zabcheck graph --variant small-quorum --nodes 2 --txns 1 --timeouts 0 --crashes 0 --losses 0 --depth 11
    """

    kind: ClassVar[str] = "graph"

    properties: Checked = ()
    depth: Depth = None
    max_states: Annotated[Count, Option("Refuse a graph with more states.")] = 100_000
    symmetry: Symmetry = True
    output: Annotated[File, Option("Write the graph to this file, as GraphML.", place="write")] = ""

    def validate(self) -> None:
        from checker.graph.build import MOST_STATES

        if self.max_states > MOST_STATES:
            raise RequestError(f"--max-states: a graph has at most {MOST_STATES:,} states")

    @property
    def exploration(self) -> ExplorationRequest:
        """Return the request to explore these states; one more than the limit means that there are too many."""
        return ExplorationRequest(
            **vars(self.model), depth=self.depth, max_states=self.max_states + 1, properties=self.properties,
            keep_going=True, symmetry=self.symmetry, reduction="none",
        )  # fmt: skip

    def answer(self, watch: Watch = QUIET) -> Graphed:
        from checker.graph.build import graphml_of
        from checker.graph.report import Graphed
        from checker.report.remarks import disjoint_notes

        output = Path(self.output) if self.output else None
        made = state_graph(self, watch)
        if output is not None:
            save_file(output, graphml_of(made).encode())
        _, configuration = self.exploration.checks()
        return Graphed(made, self.as_json(), disjoint_notes(configuration))


graph = function(GraphRequest)


def state_graph(request: GraphRequest, watch: Watch) -> nx.DiGraph[int]:
    """Build the graph of a model: explore it, then add every state and step.

    Raises:
        RequestError, NoVerdict, ConfigError, LanguageError: as for `GraphRequest.answer`.
    """
    from checker.explore.compiled import Compiled
    from checker.explore.groups import groups_of
    from checker.graph.build import graph_of
    from checker.report.report import bounds_of
    from checker.requests.explore import explored
    from invariants.registry import TERMINAL
    from zabspec import __version__
    from zabspec.language.layout.error_sites import met
    from zabspec.model import Model

    exploring = request.exploration
    judged, configuration = exploring.checks()
    terminal = [p.name for p in judged if p.of == TERMINAL]
    if terminal and request.properties:
        raise RequestError(
            f"a graph is not checked against {terminal[0]}: it is a property of terminal states; `zabcheck` checks it"
        )
    judged = [p for p in judged if p.of != TERMINAL]
    if len(groups_of(judged)) > 1:
        most = len(groups_of(judged)[0])
        raise RequestError(f"a graph is checked against at most {most} properties: name them with --property")
    codes: list[Compiled] = []

    def compiled(*given: object) -> tuple[Compiled, str]:
        code, why = Compiled.of(*given)  # type: ignore[arg-type]
        codes.append(code)
        return code, why

    found, _, why = explored(Model(configuration), judged, exploring.limits, exploring, watch, compiled)
    if found.error or found.failed:
        raise NoVerdict(f"no graph: {met(found.error)}")
    if found.stopped and found.distinct > request.max_states:
        raise RequestError(too_many(request))
    if found.stopped:
        raise NoVerdict(f"no graph: {found.stopped}")
    about = {
        "name": f"the states of {bounds_of(configuration)}",
        "tool": f"zabcheck {__version__}",
        "symmetry_off": why,
        "not_judged": tuple(terminal),
    }
    return graph_of(codes[0], found, request.depth, about)


def too_many(request: GraphRequest) -> str:
    """Return why a graph is refused, and what would make it smaller."""
    from checker.graph.build import MOST_STATES

    more = "" if request.max_states >= MOST_STATES else f"; --max-states takes up to {MOST_STATES:,}"
    return f"the graph has more than {request.max_states:,} states (--max-states): --depth limits it{more}"
