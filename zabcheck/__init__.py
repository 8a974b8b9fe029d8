# One of zabcheck's five packages.
"""zabcheck from Python: explore, audit, plan, replay, prove and more, each a function with a typed answer.

    import zabcheck

    found = zabcheck.explore(nodes=3, txns=2, timeouts=1, crashes=0, losses=0)
    print(found.sentence)

Every keyword is the option of that name on the command line. What has an answer is returned, whatever the answer is;
`RequestError` is raised where the command would end with 2, `NoVerdict` where it would end with 3 and has nothing to
show. `docs/how-to/python-and-pytest.md` has examples. Nothing is imported until it is used.

A request, its function and its answer are in a file of `checker/requests/`; here are only the public names.
`language.py` is for authors of protocols, `pytest_plugin.py` for explorations as tests.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zabcheck.shadowed_packages import in_the_way

if TYPE_CHECKING:  # the public names, each with the module that has it; of a wing, where it is installed
    from checker.ci.result import Checked as Checked
    from checker.errors import NoVerdict as NoVerdict
    from checker.errors import RequestError as RequestError
    from checker.graph.report import Graphed as Graphed
    from checker.live.report import Lived as Lived
    from checker.mutate.report import Mutated as Mutated
    from checker.report.answer import Listed as Listed
    from checker.report.answer import StatedAnswer as StatedAnswer
    from checker.report.linted import Linted as Linted
    from checker.report.replayed import Replayed as Replayed
    from checker.report.report import Explored as Explored
    from checker.report.simulated import Simulated as Simulated
    from checker.report.witnessed import Witnessed as Witnessed
    from checker.requests.check import check as check
    from checker.requests.entries import entries as entries
    from checker.requests.explore import explore as explore
    from checker.requests.export import Exported as Exported
    from checker.requests.export import export as export
    from checker.requests.gallery import gallery as gallery
    from checker.requests.graph import graph as graph
    from checker.requests.lint import lint as lint
    from checker.requests.live import live as live
    from checker.requests.minimise import Minimised as Minimised
    from checker.requests.minimise import minimise as minimise
    from checker.requests.mutate import mutate as mutate
    from checker.requests.properties import properties as properties
    from checker.requests.realise import Realised as Realised
    from checker.requests.realise import realise as realise
    from checker.requests.replay import replay as replay
    from checker.requests.report import Reported as Reported
    from checker.requests.report import report as report
    from checker.requests.search import search as search
    from checker.requests.simulate import simulate as simulate
    from checker.requests.variants import variants as variants
    from checker.requests.witness import witness as witness
    from checker.search.report import Searched as Searched
    from invariants.registry import Property as Property
    from traces.record.trace import Trace as Trace
    from zabcheck.names.proofs import *  # noqa: F403
    from zabcheck.names.tables import *  # noqa: F403
    from zabcheck.names.zookeeper import *  # noqa: F403
    from zabspec.protocols.registry import Protocol as Protocol


@cache
def places() -> Mapping[str, str]:
    """Return the module of each public name, as the imports above, and those of wings, list them for type checkers."""
    files = (Path(__file__), *sorted(Path(__file__).parent.glob("names/*/__init__.py")))
    listed = [node for file in files for node in ast.parse(file.read_text("utf-8")).body if isinstance(node, ast.If)]
    imports = [node for each in listed for node in each.body if isinstance(node, ast.ImportFrom)]
    return {name.name: str(node.module) for node in imports for name in node.names if name.asname}


def __getattr__(name: str) -> Any:
    """Import a name of this package from the module that defines it.

    Raises:
        AttributeError: there is none.
        ImportError: another project's package stands in the way of one of ours.
    """
    if name == "__all__":
        return sorted(places())
    if name == "__version__":
        return import_module("zabspec").__version__
    if name.startswith("_") or name not in places():
        raise AttributeError(f"module 'zabcheck' has no attribute {name!r}")
    sentence = in_the_way()
    if sentence:
        raise ImportError(sentence)
    value = getattr(import_module(places()[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *places()})
