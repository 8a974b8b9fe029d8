"""The import graph of the five packages has no circle; floors and folders are contracts in `pyproject.toml`."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp
import networkx
import pytest

import invariants
import traces
import zabcheck
from checker.cli import main
from checker.report.formats import registry as formats
from zabspec.protocols.registry import NAMES, PROTOCOLS

TOP = Path(__file__).parents[2]
COMMANDS = TOP / "checker/commands"
DECLARED = [found.declared for found in PROTOCOLS.values()]
BY_STRING = ("import_module", "__import__")
PACKAGES = ("zabcheck", "checker", "traces", "invariants", "zabspec")

# The modules that import others by a name they compute: whose names these are, and what they name.
BY_NAME = {
    "checker.commands.common": [
        ("checker.cli", f"checker.{'commands' if (COMMANDS / f'{name}.py').exists() else 'requests'}.{name}")
        for group in main.groups.values()
        for name in group
    ],
    "checker.report.formats.registry": [("checker.report.formats.registry", module) for module in formats.modules()],
    "checker.requests.base.request": [],  # late: what is added to the answer of an exploration explores, too
    "checker.commands.completing": [],  # names that a wing completes
    "checker.page_tables": [],  # tables of wings
    "checker.requests.base.kinds": [],  # late, when a trace or a command names a kind: a reader of traces may make one
    "invariants": [("invariants", module.__name__) for module in invariants.OTHERS],
    "traces": [("traces", module) for module in traces.PLACES.values()],
    "zabcheck": [("zabcheck", module) for module in set(zabcheck.places().values())],
    "zabspec.authoring.files": [("zabspec.authoring.files", module) for module in NAMES.values()],
    "zabspec.authoring.reading": [
        ("zabspec.authoring.reading", str(name)) for d in DECLARED for name in (d.variants, d.oracle) if name
    ],
    "zabspec.second.load": [],  # what a protocol's source imports
    "zabspec.live.phase": [("zabspec.live.phase", d.progress) for d in DECLARED],
    "zabspec.protocols.registry": [],  # late: what a release does differently
}


@pytest.fixture(scope="module")
def graph() -> networkx.DiGraph[str]:
    """Who imports whom, file by file: at the top, inside functions, and for types alone."""
    found = grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)
    edges = [(file, other) for file in found.modules for other in found.find_modules_directly_imported_by(file)]
    assert len(found.modules) > 400
    assert len(edges) > 2000
    return networkx.DiGraph(edges)


def circles(graph: networkx.DiGraph[str]) -> list[str]:
    """One way around in each knot of files, as `a -> b -> a`."""
    found = []
    for knot in networkx.strongly_connected_components(graph):
        inside = graph.subgraph(knot)
        if inside.size():
            way = [edge[0] for edge in networkx.find_cycle(inside)]
            found.append(" -> ".join([*way, way[0]]))
    return found


def test_no_file_imports_what_imports_it(graph: networkx.DiGraph[str]) -> None:
    assert not circles(graph)


def test_no_file_imports_by_name_what_imports_it(graph: networkx.DiGraph[str]) -> None:
    named = networkx.DiGraph([*graph.edges, *(edge for edges in BY_NAME.values() for edge in edges)])
    assert not circles(named)


def test_every_import_by_name_is_listed() -> None:
    assert set(importing_by_name()) == set(BY_NAME)


def importing_by_name() -> Iterator[str]:
    """The modules that import what is not written out where it is imported."""
    for path in (path for package in PACKAGES for path in (TOP / package).rglob("*.py")):
        text = path.read_text()
        if not any(name in text for name in BY_STRING):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or ast.unparse(node.func).rpartition(".")[2] not in BY_STRING:
                continue
            what = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
            if what.partition(".")[0] in ("", *PACKAGES):
                yield ".".join(path.relative_to(TOP).with_suffix("").parts).removesuffix(".__init__")


def test_every_package_that_is_imported_is_declared(graph: networkx.DiGraph[str]) -> None:
    project, names = tomllib.loads((TOP / "pyproject.toml").read_text())["project"], {
        "z3-solver": "z3", "itf-py": "itf_py", "resvg-py": "resvg_py", "tree-sitter": "tree_sitter",
        "tree-sitter-java": "tree_sitter_java",
    }  # fmt: skip
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    declared = {names.get(name, name) for name in (re.split(r"[<>=!~ ]", line)[0] for line in lines)}
    imported = {module.partition(".")[0] for module in graph}
    assert imported - sys.stdlib_module_names <= {*declared, *PACKAGES, "py4j"}  # pyspark brings that
    assert {"click", "z3", "pyspark"} <= imported
