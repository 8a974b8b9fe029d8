"""Evidence beside an exploration is shown only of the text, the sizes and the solver that it was computed for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from msgspec import to_builtins

import zabcheck
from checker.cli import main
from checker.explore.result import Violation
from checker.proofs.evidence import computing, gathered, sources, store
from checker.proofs.evidence.gathered import of_zab, why_none
from checker.proofs.evidence.store import Entry
from checker.proofs.requests.induct import Induct
from checker.proofs.requests.prove import Prove
from checker.proofs.requests.refine import Refine
from checker.report.documents import ExplorationReport
from checker.report.evidence import (
    COMPUTED,
    INDUCTIVE,
    NOT_COMPUTED,
    PROOF,
    RECORDED,
    REFINEMENT,
    Evidence,
    Gathered,
)
from invariants import PROPERTIES
from zabspec.model import Configuration
from zabspec.typed import read

NAMES = [p.name for p in PROPERTIES if p.default and p.judges("zab")]
SMALL: dict[str, Any] = {"nodes": 3, "engine": "interpret", "depth": 1, "symmetry": False}
ABSTRACT = ("integrity", "total-order", "agreement", "durability")


@dataclass
class Kept:
    """What stands in for what is recorded and for what takes long.

    Attributes:
        file: of recorded evidence, good for the sources as they are.
        computed: the kinds that were computed, in order.
    """

    file: Path
    computed: list[str] = field(default_factory=list)

    def change(self, kind: str, **values: object) -> None:
        """Change what is recorded of a kind."""
        content = json.loads(self.file.read_bytes())
        content[kind] |= values
        self.file.write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """Evidence as if recorded and computed, in a cache of its own."""
    out = Kept(tmp_path / "recorded.json")
    claims = {INDUCTIVE: dict.fromkeys(NAMES, "inductive"), REFINEMENT: {"": "refines"}}
    entries = {
        one.kind: to_builtins(Entry(sources.digest(one.kind), one.request.as_json(), one.bounds, claims[one.kind]))
        for one in of_zab("")
        if one.kind != PROOF
    }
    out.file.write_text(json.dumps(entries), encoding="utf-8")
    monkeypatch.setattr(store, "RECORDED_FILE", out.file)
    monkeypatch.setenv("ZABCHECK_CACHE", str(tmp_path / "cache"))

    def instead(kind: str, said: Mapping[str, str]) -> Any:
        def compute(request: Any, digest: str, tell: object) -> Entry:
            out.computed.append(kind)
            return Entry(digest, request.as_json(), f"the bounds of {kind}", said)

        return compute

    monkeypatch.setitem(computing.OF_KIND, PROOF, instead(PROOF, dict.fromkeys(ABSTRACT, "proved")))
    monkeypatch.setitem(computing.OF_KIND, INDUCTIVE, instead(INDUCTIVE, dict.fromkeys(NAMES, "not proved")))
    monkeypatch.setitem(computing.OF_KIND, REFINEMENT, instead(REFINEMENT, {"": "does not refine it"}))
    return out


def found(**options: Any) -> Gathered:
    """The evidence beside a small exploration."""
    evidence = zabcheck.explore(**SMALL | options).evidence
    return evidence if evidence is not None else Gathered()


def test_recorded_evidence_stands_beside_the_protocol(kept: Kept) -> None:
    here = found()
    assert here.head == ("at n = 3, e <= 2", "any n")
    assert here.cells("agreement") == ("inductive", "proved")
    assert here.cells("invariant-1") == ("inductive", "")
    assert [e.status for e in here.pieces] == [RECORDED, RECORDED, COMPUTED]
    assert kept.computed == [PROOF]
    found()  # the proof is kept on this machine
    assert kept.computed == [PROOF]


@pytest.mark.parametrize("kind", [INDUCTIVE, REFINEMENT])
def test_another_digest_empties_the_cells(kept: Kept, kind: str) -> None:
    digest = sources.digest(kind)
    kept.change(kind, digest=("0" if digest[0] != "0" else "1") + digest[1:])
    here = found()
    assert here.head == (("any n",) if kind == INDUCTIVE else ("at n = 3, e <= 2",))
    piece = next(e for e in here.pieces if e.kind == kind)
    assert (piece.status, dict(piece.claims), piece.digest) == (NOT_COMPUTED, {}, "")
    assert "--evidence all" in " ".join(here.legend())
    # nothing is said of any n where it is not known that the text refines what is proved
    assert kept.computed == ([PROOF] if kind == INDUCTIVE else [])


def test_another_request_empties_the_cells(kept: Kept) -> None:
    kept.change(INDUCTIVE, request=Induct("zab", nodes=2, txns=2).as_json())
    kept.change(REFINEMENT, request=Refine(variant="missing-only", nodes=3, txns=2).as_json())
    assert found().head == ()


@pytest.mark.parametrize("content", [b"[]", b'{"inductive": 3, "refinement": {"digest": "a"}}', b"\xff"])
def test_a_damaged_record_is_none(kept: Kept, content: bytes) -> None:
    kept.file.write_bytes(content)
    assert found().head == ()


def test_a_record_of_another_type_is_none(kept: Kept) -> None:
    kept.change(INDUCTIVE, why=3)
    kept.change(REFINEMENT, claims={"": "refines", "more": 1})
    assert found().head == ()


def test_a_variant_has_nothing_recorded(kept: Kept) -> None:
    here = found(variant="missing-only")
    assert (here.head, kept.computed) == ((), [])
    assert "--variant missing-only" in here.legend()[0]
    changed = found(variant="missing-only", evidence="all")
    assert kept.computed == [INDUCTIVE, REFINEMENT, PROOF]
    assert changed.cells("agreement") == ("not proved", "not refined")
    assert found(variant="missing-only").cells("agreement") == ("not proved", "not refined")  # it is kept
    assert len(kept.computed) == 3
    assert found(variant="history-by-length").head == ()


def test_a_check_without_crashes_says_nothing_of_what_a_crash_does(kept: Kept) -> None:
    """`clear-then-history` refines abstract ZAB where nobody crashes, and breaks durability where somebody does."""
    here = found(variant="clear-then-history", evidence="all")
    assert REFINEMENT not in kept.computed
    assert here.head == ("at n = 3, e <= 2",)
    assert any("without crashes, but clear-then-history changes what a crash does" in line for line in here.legend())


OTHER: tuple[dict[str, Any], ...] = (
    {"nodes": 2}, {"nodes": 4}, {"txns": 3}, {"network": "lossy", "drops": 1}, {"network": "unordered"},
    {"network": "duplicating", "duplicates": 1}, {"partitions": 1}, {"max_epoch": 3}, {"channel": 5},
    {"quorums": "weights 2,1,1"}, {"power_losses": 1}, {"outages": 1},
)  # fmt: skip


def test_other_sizes_and_worlds_have_none() -> None:
    assert why_none(Configuration(nodes=3)) == ""
    for values in OTHER:
        assert why_none(Configuration(**{"nodes": 3} | values)), values


def test_other_sizes_show_nothing_and_say_why_if_asked(kept: Kept) -> None:
    assert found(nodes=2).legend() == []
    here = found(nodes=2, evidence="all")
    assert (here.head, kept.computed) == ((), [])
    assert "none is shown for other sizes" in here.legend()[0]


OURS = ("shared_names=", "progress=", "variants=", "lab_oracle=", "released=")  # what a user protocol may not declare


def test_a_copy_of_the_protocol_has_nothing_recorded(kept: Kept, tmp_path: Path) -> None:
    """A user protocol is known by its file: one with the name and the text of ours is another."""
    from zabspec import zab

    lines = Path(zab.__file__).read_text(encoding="utf-8").splitlines(keepends=True)
    copy = tmp_path / "zab.py"
    copy.write_text("".join(line for line in lines if not line.strip().startswith(OURS)), encoding="utf-8")
    report = zabcheck.explore(str(copy), **SMALL, evidence="all")
    assert "agreement" in [p.name for p in report.listed]
    assert not (report.evidence and report.evidence.pieces)
    assert kept.computed == []


def test_text_that_is_loaded_from_elsewhere_is_not_ours(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    from zabspec import zab

    assert gathered.is_installed_text(of_zab("")[0])
    assert not any(gathered.is_installed_text(one) for one in of_zab("missing-only")[:2])
    monkeypatch.setattr(zab, "__file__", str(kept.file.parent / "zab.py"))
    assert not gathered.is_installed_text(of_zab("")[0])
    assert found().head == ()


def test_a_property_of_the_same_name_is_not_ours() -> None:
    report = zabcheck.explore(**SMALL, evidence="explored")
    assert set(NAMES) <= gathered.names_of(report)
    first = report.exploration.properties[0]
    other = replace(first, holds=lambda h: True)
    report.exploration.properties = (other, *report.exploration.properties[1:])
    fresh = replace(report)
    assert first.name not in gathered.names_of(fresh)
    assert set(NAMES) - {first.name} <= gathered.names_of(fresh)


PIECES = (
    Evidence(INDUCTIVE, RECORDED, "3 nodes", "zabcheck induct", {"agreement": "inductive"}, "d" * 64, nodes=3),
    Evidence(REFINEMENT, RECORDED, "3 nodes", "zabcheck refine", {"": "refines"}, "e" * 64),
    Evidence(PROOF, COMPUTED, "any number", "zabcheck prove", {"agreement": "proved"}, "f" * 64),
)


def test_nothing_is_proved_of_a_text_that_does_not_refine() -> None:
    here = Gathered(PIECES, frozenset({"agreement"}))
    assert here.cells("agreement") == ("inductive", "proved")
    for claim in ("does not refine it", "is not known to refine it"):
        pieces = (PIECES[0], replace(PIECES[1], claims={"": claim}), PIECES[2])
        other = Gathered(pieces, frozenset({"agreement"}))
        assert other.cells("agreement") == ("inductive", "not refined")
        assert claim in other.legend()[1]
        assert "proved" not in other.cells("agreement")
    assert Gathered(PIECES[::2], frozenset({"agreement"})).head == ("at n = 3",)


def test_what_a_run_violates_has_no_cell(kept: Kept) -> None:
    report = zabcheck.explore(**SMALL, evidence="explored")
    assert "agreement" in gathered.names_of(report)
    judged = next(p for p in report.exploration.properties if p.name == "agreement")
    report.exploration.violations["agreement"] = Violation(judged, (0,))
    assert gathered.names_of(report) == set(NAMES) - {"agreement"}
    here = Gathered(PIECES, frozenset())
    assert here.cells("agreement") == ("", "")
    assert all(piece.claim is None for piece in here.of_property("agreement"))


def test_no_evidence_changes_an_exit_code(kept: Kept) -> None:
    codes = [zabcheck.explore(**SMALL, evidence=level).exit_code for level in ("explored", "all")]
    assert codes == [3, 3]  # nothing is put to the test in one step
    kept.change(INDUCTIVE, claims=dict.fromkeys(NAMES, "not inductive"))
    found = zabcheck.explore(**SMALL)
    assert (found.exit_code, found.violations) == (3, {})


def test_evidence_can_be_switched_off(kept: Kept) -> None:
    assert found(evidence="explored") == Gathered()
    assert kept.computed == []
    assert found(time_limit=60.0).head == ("at n = 3, e <= 2",)  # and nothing is begun that could pass a limit
    assert kept.computed == []


def test_every_format_has_the_evidence(kept: Kept, tmp_path: Path) -> None:
    junit, html = tmp_path / "report.xml", tmp_path / "report.html"
    words = ["--nodes", "3", "--depth", "1", "--engine", "interpret", "--no-symmetry", "--no-trace"]
    runner = CliRunner()
    shown = runner.invoke(main, words)
    assert "at n = 3, e <= 2" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "(recorded)" in shown.stdout
    done = runner.invoke(main, [*words, "--json", "--junit", str(junit), "--html", str(html)])
    report = json.loads(done.stdout)
    read(report, ExplorationReport)
    assert report["evidence"]["columns"] == ["at n = 3, e <= 2", "any n"]
    row = next(p for p in report["properties"] if p["name"] == "agreement")
    assert [(e["kind"], e["claim"], e["status"]) for e in row["evidence"]] == [
        (INDUCTIVE, "inductive", RECORDED), (REFINEMENT, "refines", RECORDED), (PROOF, "proved", COMPUTED),
    ]  # fmt: skip
    saved = tmp_path / "report.json"
    row["evidence"][2]["claim"] = "proved twice"
    saved.write_text(json.dumps(report), encoding="utf-8")
    again = tmp_path / "again.html"
    assert runner.invoke(main, ["report", str(saved), "--html", str(again)]).exit_code == report["exit_code"]
    assert "proved twice" not in again.read_text(encoding="utf-8")
    assert "any n" not in again.read_text(encoding="utf-8")
    cases = ElementTree.parse(junit).getroot().iter("testcase")
    said = {p.get("name"): p.get("value") for c in cases if c.get("name") == "agreement" for p in c.iter("property")}
    assert set(said) == {"at n = 3, e <= 2", "any n"}
    assert str(said["any n"]).startswith("proved: ")
    page = html.read_text(encoding="utf-8")
    assert '<th scope="col">any n</th>' in page
    assert re.search(r">inductive</td><td[^>]*>proved</td>", page)
    assert ">inductive</td>" not in zabcheck.explore(**SMALL, evidence="explored")._repr_html_()
    assert "any n" in zabcheck.explore(**SMALL)._repr_html_()


def test_ctrl_c_leaves_the_exploration_its_report(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Entry:
        raise KeyboardInterrupt

    monkeypatch.setitem(computing.OF_KIND, PROOF, interrupted)
    assert found().head == ("at n = 3, e <= 2",)
    monkeypatch.setitem(computing.OF_KIND, REFINEMENT, interrupted)
    assert found(variant="missing-only", evidence="all").piece(REFINEMENT) is None


def test_all_assumptions_stand_beside_a_user_protocol(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(request: Any, digest: str, tell: object) -> Entry:
        return Entry(digest, request.as_json(), "few words", {}, assumptions=("2 processes", "at most 3 passes"))

    monkeypatch.setitem(computing.OF_KIND, INDUCTIVE, compute)
    ring = str(Path(zabcheck.__file__).parent.parent / "examples/token_ring.py")
    options: dict[str, Any] = {"engine": "interpret", "depth": 1, "symmetry": False}
    report = zabcheck.explore(ring, **options, evidence="all")
    assert report.evidence is not None
    (piece,) = report.evidence.pieces
    assert piece.bounds == "2 processes; at most 3 passes"
    assert report.evidence.head == ("at n = 3",)


def test_a_solver_that_cannot_be_loaded_ends_nothing(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(*_: object) -> Entry:
        raise ImportError("libz3.so")

    monkeypatch.setitem(computing.OF_KIND, PROOF, compute)
    here = found()
    assert here.head == ("at n = 3, e <= 2",)
    assert "any n: abstract ZAB is not proved here (zabcheck prove); this protocol refines it" in here.legend()[1]


# --- what is claimed -------------------------------------------------------------------------------


def outcome(**changes: Any) -> Any:
    """What an induction found: one clause and one property, both proved."""
    agreement = next(p for p in PROPERTIES if p.name == "agreement")
    clause = SimpleNamespace(name="links")
    base = {
        "verdicts": [
            SimpleNamespace(clause=clause, holds=True, word="proved"),
            SimpleNamespace(clause=agreement, holds=True, word="proved"),
        ],
        "question": SimpleNamespace(
            clauses=("links",), with_premise=[agreement], assumed=(), configuration=Configuration(nodes=3)
        ),
        "refuted": {}, "obstacles": [], "errors": [], "groundless": [], "unreached": [],
        "premises": SimpleNamespace(trouble="", never_false=()), "unasked": 0, "taken": [],
        "granted": ["3 processes"], "within": (),
    }  # fmt: skip
    return SimpleNamespace(**base | changes)


def claimed(monkeypatch: pytest.MonkeyPatch, what: Any) -> Entry:
    """The entry that an outcome makes."""
    monkeypatch.setattr(Induct, "answer", lambda *_: SimpleNamespace(outcome=what))
    return computing.inductive(Induct(), "d" * 64, lambda _: None)


def test_inductive_is_what_rests_on_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    assert claimed(monkeypatch, outcome()).claims == {"agreement": "inductive"}
    open_clause = outcome()
    open_clause.verdicts[0].holds, open_clause.verdicts[0].word = False, "not inductive"
    entry = claimed(monkeypatch, open_clause)
    assert (entry.claims, entry.why) == ({"agreement": "not proved"}, "not proved: 1 clause, links")
    for name, value in (("obstacles", ["a step"]), ("errors", ["an error"]), ("groundless", ["links"])):
        assert claimed(monkeypatch, outcome(**{name: value})).claims == {"agreement": "not proved"}, name
    assert claimed(monkeypatch, outcome(refuted={"agreement": 9})).claims == {"agreement": "violated"}
    vacuous = claimed(monkeypatch, outcome(unreached=["agreement"])).claims
    assert vacuous == claimed(monkeypatch, outcome(premises=None)).claims
    assert vacuous == {"agreement": "inductive, premise not reached"}


def test_what_is_undecided_is_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZABCHECK_CACHE", str(tmp_path))
    undecided = outcome()
    undecided.verdicts[1].holds, undecided.verdicts[1].word = False, "undecided"
    entry = claimed(monkeypatch, undecided)
    assert (entry.claims, entry.final) == ({"agreement": "undecided"}, False)
    for changes in (
        {"unasked": 1}, {"premises": SimpleNamespace(trouble="no time")}, {"taken": [SimpleNamespace(undecided="it")]},
    ):  # fmt: skip
        assert not claimed(monkeypatch, outcome(**changes)).final, changes
    assert claimed(monkeypatch, outcome(obstacles=["a step can have a run-time error"])).final
    store.keep(INDUCTIVE, entry, "")
    assert store.kept(INDUCTIVE, entry.digest, entry.request, "") is None
    good = claimed(monkeypatch, outcome())
    store.keep(INDUCTIVE, good, "")
    assert store.kept(INDUCTIVE, good.digest, good.request, "") == good
    assert store.kept(INDUCTIVE, good.digest, good.request, "another text") is None
    assert store.kept(INDUCTIVE, "e" * 64, good.request, "") is None


def explored(**changes: Any) -> Any:
    """A refinement check that went through all states."""
    base = {"complete": True, "stopped": "", "error": "", "failed": False, "violations": {}}
    return SimpleNamespace(**base | changes)


def test_a_text_refines_if_all_states_were_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry(exploration: Any, **changes: Any) -> Entry:
        values = {"report": SimpleNamespace(exploration=exploration), "failures": {}, "trouble": ""}
        monkeypatch.setattr(Refine, "answer", lambda *_: SimpleNamespace(**values | changes))
        return computing.refinement(Refine(), "d" * 64, lambda _: None)

    whole = entry(explored())
    assert (whole.claims, whole.bounds) == ({"": "refines"}, "3 nodes, 2 transactions, 1 timeout")
    for changes in ({"complete": False}, {"stopped": "memory"}, {"error": "room"}, {"violations": {"x": 1}}):
        part = entry(explored(**changes))
        assert (part.claims, part.final) == ({"": "is not known to refine it"}, False), changes
    assert entry(explored(), trouble="it did not replay").claims != {"": "refines"}
    failed = entry(explored(), failures={"refines": SimpleNamespace(sentence="step 3")})
    assert (failed.claims, failed.why, failed.final) == ({"": "does not refine it"}, "step 3", True)


def test_a_proof_that_is_open_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from checker.proofs.prove.prove import Proof

    class Held(Proof):
        held = True

    monkeypatch.setattr("checker.proofs.requests.prove.Prove.found", lambda *_: [Held(0)])
    assert set(computing.proof(Prove(), "d" * 64, lambda _: None).claims.values()) == {"proved"}
    monkeypatch.setattr(
        "checker.proofs.requests.prove.Prove.found", lambda *_: [Proof(0)]
    )  # no witness of it is reached
    monkeypatch.setattr(Proof, "held", False)
    entry = computing.proof(Prove(), "d" * 64, lambda _: None)
    assert (set(entry.claims.values()), entry.final) == ({"not proved"}, False)


def test_the_proof_names_properties_of_the_protocol() -> None:
    """A column of the abstract protocol stands beside properties of the executable one: these are the same claims."""
    from zabspec.proofs.abstract.theory import ZAB

    assert {p.name for p in ZAB.properties} == {
        "integrity", "total-order", "agreement", "local-primary-order", "global-primary-order", "primary-integrity",
        "one-leader-an-epoch", "delivered-is-chosen", "durability",
    }  # fmt: skip
    assert {p.name for p in ZAB.properties} <= set(NAMES)
