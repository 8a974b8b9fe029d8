"""Find out what a release of ZooKeeper with all known repairs still violates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.requests.request import Request, seconds
from checker.requests.watch import Watch

if TYPE_CHECKING:
    from checker.zookeeper.residue import Left


@dataclass(frozen=True)
class ResidueRequest(Request):
    """The residue of a release.

    Attributes:
        release: its number; empty for the newest.
        time_limit: seconds for each exploration.
    """

    kind: ClassVar[str] = "zookeeper-residue"

    release: str = ""
    time_limit: float | None = None

    def validate(self) -> None:
        seconds(self, "time_limit")

    def variant(self) -> str:
        """Return the variant that models the release.

        Raises:
            RequestError: there is no such release.
        """
        from checker.zookeeper.record import NEWEST
        from checker.zookeeper.releases import variant_of
        from zabspec.model import ConfigError

        try:
            return (variant_of("zookeeper", self.release) if self.release else "") or NEWEST
        except ConfigError as problem:
            raise RequestError(str(problem)) from None


def answer(request: ResidueRequest, watch: Watch | None = None) -> Iterator[Left]:
    """Return an iterator that explores one line after another.

    Raises:
        RequestError: there is no such release.
    """
    return explored(request, request.variant(), watch or Watch())


def explored(request: ResidueRequest, variant: str, watch: Watch) -> Iterator[Left]:
    """Explore each line."""
    from checker.zookeeper.residue import LINES, ask

    for line in LINES:
        with watch.exploring() as progress:
            found = ask(line, variant, request.time_limit, progress)
        yield found
