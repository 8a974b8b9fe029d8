"""Check the record of a free-running ensemble against its release's model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import RequestError
from checker.requests.request import Request, seconds

if TYPE_CHECKING:
    from traces.conform.explained import Conformed
    from traces.conform.record import Record


@dataclass(frozen=True)
class ConformRequest(Request):
    """A record, and the model to check it against.

    Attributes:
        record: its file.
        release: the one whose model is used; empty for the one that the record names.
        variant: of the model, in place of the release's.
        time_limit: seconds of the search; None for no limit. If it is over without an explanation, the verdict is
            UNKNOWN.
    """

    kind: ClassVar[str] = "conform"

    record: str = ""
    release: str = ""
    variant: str = ""
    time_limit: float | None = 300.0

    def validate(self) -> None:
        seconds(self, "time_limit")
        if not self.record:
            raise RequestError("name the record to explain")
        if self.release and self.variant:
            raise RequestError(f"--variant replaces --release; for both: --variant {self.release},{self.variant}")

    def variant_of(self, record: Record) -> str:
        """Return the variant of the protocol that the record is checked against.

        Raises:
            RequestError: nothing determines it, or there is no model of that release.
        """
        from checker.zookeeper.releases import variant_of, with_settings
        from zabspec.protocols.registry import PROTOCOLS

        if self.variant:
            return with_settings(PROTOCOLS["zookeeper"], self.variant)
        release = self.release or record.release
        if not release:
            raise RequestError("the record has no release: give --release NUMBER")
        return variant_of("zookeeper", release)


class Conforming:
    """Follows the search. This one shows nothing."""

    def explained(self, count: int, of: int) -> None:
        """Report that `count` of `of` observations are explained."""


def answer(request: ConformRequest, watch: Conforming | None = None) -> Conformed:
    """Search for a run of the model that explains the record.

    Raises:
        RequestError: this is not a record, or nothing determines the model.
    """
    from traces.conform.explained import conformed
    from traces.conform.record import BadRecord, read_record
    from zabspec.authoring.declaration import ConfigError

    try:
        record = read_record(Path(request.record))
        watch = watch or Conforming()
        return conformed(record, request.variant_of(record), request.time_limit or 0.0, watch.explained)
    except (BadRecord, ConfigError) as problem:
        raise RequestError(str(problem)) from None
