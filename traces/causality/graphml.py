"""A graph as GraphML, which Gephi, yEd, igraph and networkx read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from traces.pages.markup import FORBIDDEN

if TYPE_CHECKING:
    import networkx as nx


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
