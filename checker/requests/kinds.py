"""Every kind of request, by name."""

from __future__ import annotations

from collections.abc import Mapping

from checker.errors import RequestError
from checker.requests.audit import AuditRequest
from checker.requests.bmc import BmcRequest
from checker.requests.conformance import ConformanceRequest
from checker.requests.exploration import ExploreRequest
from checker.requests.export import ExportRequest
from checker.requests.export_model import ExportModelRequest
from checker.requests.induct import InductRequest
from checker.requests.judge import JudgeRequest
from checker.requests.live import LiveRequest
from checker.requests.matrix import MatrixRequest
from checker.requests.minimise import MinimiseRequest
from checker.requests.mutate import MutateRequest
from checker.requests.plan import PlanRequest
from checker.requests.prove import ProveRequest
from checker.requests.quorums import QuorumsRequest
from checker.requests.realise import RealiseRequest
from checker.requests.reenact import ReenactRequest
from checker.requests.refine import RefineRequest
from checker.requests.replay import ReplayRequest
from checker.requests.request import Request
from checker.requests.residue import ResidueRequest
from checker.requests.search import SearchRequest
from checker.requests.simulate import SimulateRequest
from checker.requests.sweep import SweepRequest
from checker.requests.zookeeper import ZookeeperRequest

__all__ = ["KINDS", "from_json"]

KINDS: Mapping[str, type[Request]] = {
    kind.kind: kind
    for kind in (
        ExploreRequest, LiveRequest, SearchRequest, MutateRequest, SimulateRequest, ReplayRequest, JudgeRequest,
        InductRequest, BmcRequest, RefineRequest, AuditRequest, MinimiseRequest, ExportRequest, ExportModelRequest,
        RealiseRequest, QuorumsRequest, ProveRequest, PlanRequest, SweepRequest, ReenactRequest, ConformanceRequest,
        ZookeeperRequest, MatrixRequest, ResidueRequest,
    )
}  # fmt: skip


def from_json(given: object) -> Request:
    """Return a request that `as_json` wrote.

    Raises:
        RequestError: it is not one.
    """
    kind = given.get("kind") if isinstance(given, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise RequestError(f"this is not a request: its kind is to be one of {', '.join(KINDS)}")
    return KINDS[kind].from_json(given)
