"""Check mutants of a user protocol: find the small changes that no property detects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import RequestError
from checker.requests.base.bounded import BoundedRequest, Checked, DrawnBy
from checker.requests.base.model import check_initial, protocol_named
from checker.requests.base.request import Count, Option, function, names_in
from checker.requests.base.watch import QUIET, Watch
from checker.requests.properties import chosen_properties

if TYPE_CHECKING:
    from checker.mutate.report import Mutated


@dataclass(frozen=True)
class Mutate(BoundedRequest):
    """Make small changes of a user protocol, one at a time, and report those that no property detects.

    The bounds are those of each exploration.
    """

    kind: ClassVar[str] = "mutate"
    mode: ClassVar[str | Option] = "number"

    number: Annotated[
        Count,
        Option(
            "Make N small changes to a user protocol, one at a time, and report those that no property detects.",
            flag="mutate",
            shown=False,
        ),
    ] = 1
    seed: DrawnBy = None
    properties: Checked = ()

    def answer(self, watch: Watch = QUIET) -> Mutated:
        from checker.mutate.report import Mutated
        from checker.mutate.run import check_mutants
        from zabspec.authoring.sources import is_file
        from zabspec.model import Model

        protocol = protocol_named(self.name)
        if not is_file(self.name):
            raise RequestError("--mutate is for a user protocol in a file: --protocol FILE.py")
        judged = chosen_properties(names_in(self.properties), self.name)
        configuration = self.configuration(promises=True)
        check_initial(Model(configuration))
        limits = self.limits
        with watch.following() as progress:
            found = check_mutants(
                configuration, judged, self.number, self.seed or 0, limits, self.threads or 0, progress
            )
        goals = tuple(goal.name for goal in protocol.text.goals)
        return Mutated(found, self.name, self.as_json(), goals)


mutate = function(Mutate)
