"""The command and entry of the second explorer.

    python -m tests.second.reference REQUEST.json [RESULT.json]

A request is an object with `protocol` (the path of a user protocol, or a name), and optionally `variant`, `nodes`,
`network`, `start`, `quorums`, `budgets`, `sizes` (`txns`, `max_epoch`, `channel`, `unforced`), `literal`, `max_states`,
`max_depth`, `properties` and `live` (whether to judge goals).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.second.explore import explore as search
from zabspec.second.own import build
from zabspec.second.progress import goals
from zabspec.second.properties import MET, declared
from zabspec.second.world import World


def world_of(request: dict[str, Any]) -> World:
    """Return the model that a request names."""
    return build(request)


def explore(request: dict[str, Any]) -> dict[str, Any]:
    """Explore the model that a request names.

    Args:
        request: see the module.

    Returns:
        An object with

        - `states`: plain states, in the order in which they were reached; the first is the initial one;
        - `depth`: the depth of each;
        - `edges`: `[from, label, to]`, for the first `expanded` states;
        - `errors`: `[state, label, text]`, and `capacity_errors`: those of them that are of capacity (R4);
        - `terminal`: the states without an enabled step;
        - `complete`: whether every reached state was expanded;
        - `verdicts`: `{"result": ..., "depth": ...}` by property;
        - `property_errors`: errors in properties and witnesses (P7);
        - `goals`: `{"result": ...}` by goal, of a request with `live`.
    """
    world = world_of(request)
    names = list(request.get("properties") or [])
    limit, deepest = request.get("max_states") or 1 << 62, request.get("max_depth")
    graph, judge = search(world, declared(world, names), limit, 1 << 62 if deepest is None else deepest)
    verdicts = {prop.name: prop.verdict() for prop in judge.properties}
    met = graph.author_error()
    verdicts[MET] = {"result": "held" if met is None else "violated", "depth": met}
    answer = {
        "states": [world.layout.plain(state) for state in graph.states],
        "depth": graph.depth,
        "edges": [list(edge) for edge in graph.edges],
        "errors": [list(error[:3]) for error in graph.errors],
        "capacity_errors": [list(error[:3]) for error in graph.errors if error[3]],
        "terminal": graph.terminal,
        "expanded": graph.expanded,
        "complete": bool(graph.states) and graph.expanded == len(graph.states),
        "verdicts": verdicts,
        "property_errors": sorted(set(judge.errors)),
    }
    if request.get("live"):
        answer["goals"] = goals(world, graph.states)
    return answer


def main(arguments: list[str]) -> int:
    """Answer the request in a file, on standard output or in another file."""
    text = json.dumps(explore(json.loads(Path(arguments[0]).read_text())))
    if len(arguments) > 1:
        Path(arguments[1]).write_text(text)
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
