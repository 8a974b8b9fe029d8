"""Check mutants of a user protocol: find the small changes that no property detects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.requests.bounded import BoundedRequest
from checker.requests.model import check_initial, protocol_named
from checker.requests.properties import chosen_properties
from checker.requests.request import at_least
from checker.requests.watch import Watch

if TYPE_CHECKING:
    from checker.mutate.report import MutationReport


@dataclass(frozen=True)
class MutateRequest(BoundedRequest):
    """Mutants of a user protocol, each explored.

    Attributes:
        model: the protocol, which is a file, and its bounds; the other bounds are of each exploration.
        number: of mutants.
        seed: determines which mutants are drawn.
        properties: names; empty for all that are checked by default.
    """

    kind: ClassVar[str] = "mutate"

    number: int = 1
    seed: int = 0
    properties: tuple[str, ...] = ()

    def validate(self) -> None:
        super().validate()
        at_least(self, 1, "number")


def answer(request: MutateRequest, watch: Watch | None = None) -> MutationReport:
    """Check the mutants.

    Raises:
        RequestError: the request is wrong.
        NoVerdict: there is no answer.
        ConfigError, LanguageError: the source of the protocol is wrong.
    """
    from checker.explore.result import Limits
    from checker.mutate.report import MutationReport
    from checker.mutate.run import check_mutants
    from zabspec.authoring.sources import is_file
    from zabspec.model import Model

    name = request.model.protocol
    protocol = protocol_named(name)
    if not is_file(name):
        raise RequestError("--mutate is for a user protocol in a file: --protocol FILE.py")
    judged = chosen_properties(request.properties, name)
    configuration = request.model.configuration(promises=True)
    check_initial(Model(configuration))
    limits = Limits(request.depth, request.max_states, request.time_limit, request.memory_limit)
    with (watch or Watch()).mutating() as progress:
        found = check_mutants(
            configuration, judged, request.number, request.seed, limits, request.threads or 0, progress
        )
    goals = tuple(goal.name for goal in protocol.text.goals)
    return MutationReport(found, name, request.as_json(), goals)
