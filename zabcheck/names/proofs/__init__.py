"""Public names about proofs, bounded checks and exports to TLA+. All are in `__init__.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the public names, each with the module that has it
    from checker.proofs.refine.report import Refined as Refined
    from checker.proofs.report.bounded import Bounded as Bounded
    from checker.proofs.report.induction import Inductive as Inductive
    from checker.proofs.report.proved import Proved as Proved
    from checker.proofs.requests.bmc import bmc as bmc
    from checker.proofs.requests.clauses import clauses as clauses
    from checker.proofs.requests.confirm import Confirmed as Confirmed
    from checker.proofs.requests.confirm import confirm as confirm
    from checker.proofs.requests.export_model import ModelExported as ModelExported
    from checker.proofs.requests.export_model import export_model as export_model
    from checker.proofs.requests.induct import induct as induct
    from checker.proofs.requests.prove import prove as prove
    from checker.proofs.requests.quorums import QuorumsChecked as QuorumsChecked
    from checker.proofs.requests.quorums import quorums as quorums
    from checker.proofs.requests.refine import refine as refine
