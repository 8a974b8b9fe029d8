"""Build the graph of a model's states, and report on the properties that it violates."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.output_files import check_writable, save_file
from checker.requests.exploration import ExplorationRequest
from checker.requests.model import ModelRequest
from checker.requests.request import Request, at_least
from checker.requests.watch import Watch

if TYPE_CHECKING:
    import networkx as nx

    from checker.graph.report import GraphReport

USUAL_STATES = 100_000


@dataclass(frozen=True)
class GraphRequest(Request):
    """The graph of a model's states.

    Attributes:
        model: the model.
        properties: names of those that states and steps are judged by; empty for all that are checked by default.
        depth: the number of steps; None for exhaustion.
        max_states: a graph with more states is refused.
        symmetry: whether one node represents all renamings of a state, if that is sound.
        output: the GraphML file that the graph is written to; empty for none.
    """

    kind: ClassVar[str] = "graph"

    model: ModelRequest = field(default_factory=ModelRequest)
    properties: tuple[str, ...] = ()
    depth: int | None = None
    max_states: int = USUAL_STATES
    symmetry: bool = True
    output: str = ""

    def validate(self) -> None:
        from checker.graph.build import MOST_STATES

        at_least(self, 0, "depth")
        at_least(self, 1, "max_states")
        if self.max_states > MOST_STATES:
            raise RequestError(f"--max-states: a graph has at most {MOST_STATES:,} states")

    @property
    def exploration(self) -> ExplorationRequest:
        """Return the request to explore these states; one more than the limit means that there are too many."""
        return ExplorationRequest(
            **vars(self.model), depth=self.depth, max_states=self.max_states + 1, properties=self.properties,
            keep_going=True, symmetry=self.symmetry, reduction="none",
        )  # fmt: skip


def answer(request: GraphRequest, watch: Watch | None = None) -> GraphReport:
    """Build the graph, analyse each property that it violates, and write it if the request names a file.

    Raises:
        RequestError: there is no such model, or its graph is too large.
        NoVerdict: a state meets a run-time error, or the file could not be written.
        ConfigError, LanguageError: the source of the protocol is wrong.
    """
    from checker.graph.questions import answers
    from checker.graph.report import GraphReport
    from checker.report.remarks import disjoint_notes
    from traces.causality.graphml import graphml_of

    output = Path(request.output) if request.output else None
    if output is not None:
        check_writable(output, "--output", regular=True)
    graph = state_graph(request, watch)
    found = {name: said for name in graph.graph["properties"] if (said := answers(graph, name)) is not None}
    if output is not None:
        save_file(output, graphml_of(graph).encode())
    _, configuration = request.exploration.checks()
    return GraphReport(graph, found, request.output, request.as_json(), disjoint_notes(configuration))


def state_graph(request: GraphRequest, watch: Watch | None = None) -> nx.DiGraph[int]:
    """Build the graph of a model: explore it, then add every state and step.

    Raises:
        RequestError, NoVerdict, ConfigError, LanguageError: as for `answer`.
    """
    from checker.explore.compiled import Compiled
    from checker.explore.groups import groups_of
    from checker.graph.build import graph_of
    from checker.report.report import bounds_of
    from checker.report.result import installed_version
    from checker.requests.explore import explored
    from invariants.registry import TERMINAL
    from zabspec.language.error_sites import met
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

    found, _, why = explored(Model(configuration), judged, exploring.limits, exploring, watch or Watch(), compiled)
    if found.error or found.failed:
        raise NoVerdict(f"no graph: {met(found.error)}")
    if found.stopped and found.distinct > request.max_states:
        raise RequestError(too_many(request))
    if found.stopped:
        raise NoVerdict(f"no graph: {found.stopped}")
    about = {
        "name": f"the states of {bounds_of(configuration)}",
        "tool": f"zabcheck {installed_version()}",
        "symmetry_off": why,
        "not_judged": tuple(terminal),
    }
    return graph_of(codes[0], found, request.depth, about)


def too_many(request: GraphRequest) -> str:
    """Return why a graph is refused, and what would make it smaller."""
    from checker.graph.build import MOST_STATES

    more = "" if request.max_states >= MOST_STATES else f"; --max-states takes up to {MOST_STATES:,}"
    return f"the graph has more than {request.max_states:,} states (--max-states): --depth limits it{more}"
