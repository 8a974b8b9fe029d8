"""Run the gallery: the claims of the sources and what breaks them, each with the run that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.requests.base.outcomes import OutcomesRequest
from checker.requests.base.request import Option, Words, function, names_in
from checker.requests.base.watch import QUIET, Watch

if TYPE_CHECKING:
    from checker.ci.result import Checked
Entries = Annotated[Words, Option(argument=True, metavar="[NAME]...", complete="entries")]
Source = Annotated[str, Option("Run entries that cite this source.", metavar="TEXT")]


@dataclass(frozen=True)
class GalleryRequest(OutcomesRequest):
    """Run the gallery: each entry is a claim of the sources, or a known fault, compared with the recorded result.

    Exit codes: as `zabcheck check`.

    Examples:
      zabcheck gallery                         every entry that takes under a minute
      zabcheck gallery equal-epoch             one: its story, and the run
      zabcheck gallery networks                those of a group: dsn11, variants, networks, db19, ...
      zabcheck gallery --source "DSN'11, VI"   those that cite it
      zabcheck gallery --list
    """

    kind: ClassVar[str] = "gallery"
    others: ClassVar[tuple[str, ...]] = ("entries",)

    names: Entries = ()
    source: Source = ""
    heavy: Annotated[bool, Option("Also run entries that take more than a minute.", flag="all")] = False

    def answer(self, watch: Watch = QUIET) -> Checked:
        from checker.ci.selection import result_of
        from checker.ci.shipped import GalleryResult, gallery

        self.check_folders()
        there = gallery()
        left = there.named(names_in(self.names), self.source, self.heavy)
        found = result_of(there.matrix, left, "entry")
        return GalleryResult(found.path, found.outcomes, found.what, request=self).save()


gallery = function(GalleryRequest)
