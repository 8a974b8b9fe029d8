"""List the protocols' variants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from checker.report.answer import Listed, listed
from checker.requests.base.model import Containing, ListedProtocol, protocol_named
from checker.requests.base.request import Request, function, names_in
from checker.requests.base.watch import QUIET, Watch

NOBODY_SAID = {True: "nothing within it", False: ""}  # for a user protocol an exploration shows the violations


@dataclass(frozen=True)
class Variants(Request):
    """List the protocols' variants: each changes one rule.

    With WORDs, list only variants whose description has all of them: zabcheck variants joiner proposals.
    """

    kind: ClassVar[str] = "variants"

    containing: Containing = ()
    protocol: ListedProtocol = None

    def answer(self, watch: Watch = QUIET) -> Listed:
        from checker.ci.variants import shown
        from zabspec.protocols.registry import NAMES, PROTOCOLS

        known = {module: name for name, module in NAMES.items()}
        rows = []
        for chosen in [protocol_named(str(self.protocol))] if self.protocol is not None else PROTOCOLS.values():
            module = chosen.declared.module
            entries = shown(known[module]) if module in known else {}  # nothing is recorded for user protocols
            for name, v in chosen.variants.items():
                there = entries.get(name)
                beside, given = (there.beside, there.within) if there is not None else ((), {})
                budget = " ".join(
                    ([f"--repair {','.join(beside)}"] if beside else [])
                    + [f"--{field.replace('_', '-')} {value}" for field, value in given.items()]
                )
                found = there.breaks if there is not None else ()
                breaks = "nothing: it holds" if v.safe else ", ".join(found) or NOBODY_SAID[bool(given)]
                why = " ".join(there.why.split()) if there is not None else ""
                rows.append((chosen.name, name, v.rule, breaks, budget, " ".join(v.summary.split()), why))
        head = ("protocol", "variant", "rule", "breaks", "shown within", "what is changed", "why")
        return listed(head, rows, names_in(self.containing), "variant")


variants = function(Variants)
