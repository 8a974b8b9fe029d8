"""Properties judged at deliveries: what they follow from breaks no later than they do, and what only stands for a
property is never told of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.reduce import deliveries as at_deliveries
from checker.explore.reduce import narrowing
from checker.explore.reduce.ample import AmpleExplorer, Narrowing, conclusive
from checker.explore.reduce.deliveries import AtDelivery, DeliveryModel
from checker.explore.result import Exploration, Limits
from checker.requests.base.model import ModelRequest
from checker.requests.explore import Explore
from invariants import binding
from invariants.claims import DELIVERS_CHOSEN
from invariants.core import INTEGRITY
from invariants.durability import CHOSEN_IS_DURABLE
from invariants.registry import STATE, STEP, Property
from tests.copies import copy_of
from tests.explore import accepting_late, false_properties, looking_at_deliveries
from tests.models import judged
from zabspec.authoring.declaration import ProtocolError
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.protocols.zab_variants import Variant

TWO = Configuration(nodes=2, txns=1, timeouts=1, crashes=0, losses=0)
THREE = replace(TWO, nodes=3, txns=2)
REPLACED = tuple(p for p in judged("zab") if p.follows_from)


@cache
def full(configuration: Configuration) -> Exploration:
    """All states, with what stands for properties judged beside them."""
    asked = [*REPLACED, *dict.fromkeys(q for p in REPLACED for q in p.follows_from)]
    return Explorer(Compiled(DeliveryModel(configuration), asked, True), 1).run(Limits(), keep_going=True)


def test_two_properties_are_judged_at_deliveries() -> None:
    assert [p.name for p in REPLACED] == ["delivered-is-chosen", "durability"]


@pytest.mark.parametrize("variant", ["small-quorum", "no-sync", "commit-on-propose"])
def test_what_a_property_follows_from_breaks_no_later(variant: str) -> None:
    found = full(replace(TWO, variant=variant)).violations
    for p in REPLACED:
        assert min(found[q.name].depth for q in p.follows_from if q.name in found) <= found[p.name].depth


def test_of_zab_nothing_that_stands_for_a_property_breaks() -> None:
    r = full(TWO)
    assert r.complete
    assert not r.violations


def narrowed(configuration: Configuration, judging: tuple[Property, ...]) -> tuple[AtDelivery, Exploration]:
    """A search with ample sets that judges at deliveries what may be judged so."""
    at = AtDelivery.of(Model(configuration), judging, ())
    code = Narrowing(DeliveryModel(configuration), at.asked, True, ())
    return at, AmpleExplorer(code, 1).run(Limits())


@pytest.mark.slow(seconds=1)
def test_a_violation_is_found_where_it_is_delivered() -> None:
    at, r = narrowed(replace(TWO, variant="commit-on-propose"), REPLACED)
    assert not at.believed(r)
    assert not {*at.told(r).violations, *at.told(r).suspected}


def test_what_others_accept_meanwhile_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader delivers what nobody else has accepted, while the other that has it is down: whoever recovers first
    accepts it, and chooses nothing by that yet."""
    made = Variant("late", "a process accepts when it recovers", accepting_late.RULES)
    monkeypatch.setitem(PROTOCOLS["zab"].variants, "late", made)  # type: ignore[arg-type]
    at, r = narrowed(replace(TWO, timeouts=0, crashes=1, variant="late"), REPLACED[:1])
    assert "delivers-chosen" in r.violations
    assert not at.believed(r)


def test_without_one_of_them_a_violation_is_lost() -> None:
    """So each of them is needed: a wrong argument would say that what is broken holds."""
    lacking = tuple(replace(p, follows_from=(INTEGRITY, CHOSEN_IS_DURABLE)) for p in REPLACED)
    at, r = narrowed(replace(TWO, variant="commit-on-propose"), lacking)
    assert at.believed(r)
    assert r.complete
    assert not r.violations


@pytest.fixture
def of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The properties of these tests are found where the papers' are."""
    real = binding.judging_modules
    monkeypatch.setattr(binding, "judging_modules", lambda model: (*real(model), false_properties))


@pytest.mark.usefixtures("of_the_tests")
def test_chosen_but_not_stored_is_found() -> None:
    """Where durability would be broken by what is chosen and not on disks, `chosen-is-durable` is needed."""
    never = Property(
        "chosen-is-durable", STATE, "a test", "something is chosen", false_properties.nothing_chosen,
        CHOSEN_IS_DURABLE.witness, default=False,
    )  # fmt: skip
    at, r = narrowed(TWO, tuple(replace(p, follows_from=(never,)) for p in REPLACED))
    assert not at.believed(r)


def test_a_premise_still_to_be_met_is_judged_as_it_is() -> None:
    at = AtDelivery.of(Model(THREE), judged("zab"), {"durability"})
    assert [p.name for p in at.replaced] == ["delivered-is-chosen"]
    assert DELIVERS_CHOSEN in at.asked
    assert CHOSEN_IS_DURABLE not in at.asked


CALLED = '''
from zabcheck.language import safety

def delivered_now(s: State) -> bool:
    """Any state."""
    return True

@safety(witness=delivered_now)
def nothing_wrong(s: State) -> bool:
    """Nothing is asked."""
    return True
'''


def test_a_function_with_the_name_of_a_field_changes_nothing(tmp_path: Path) -> None:
    """A function and a field do not meet; a function with the name of the world's own is refused."""
    assert AtDelivery.of(Model(replace(TWO, protocol=copy_of("zab", tmp_path))), REPLACED, ()).replaced == REPLACED
    (other := tmp_path / "other").mkdir()
    assert AtDelivery.of(Model(replace(TWO, protocol=copy_of("zab", other, CALLED))), REPLACED, ()).replaced == REPLACED
    (hook := tmp_path / "hook").mkdir()
    protocol = copy_of("zab", hook, CALLED.replace("delivered_now", "note_delivery"))
    with pytest.raises(ProtocolError, match="the world has a note_delivery of its own"):
        AtDelivery.of(Model(replace(TWO, protocol=protocol)), REPLACED, ())


def test_who_asks_for_one_is_told_of_one() -> None:
    """Integrity is judged beside it, and is in no report."""
    only = tuple(p for p in judged("zab") if p.name == "durability")
    at, r = narrowed(TWO, only)
    assert INTEGRITY in at.asked
    assert INTEGRITY in r.properties
    assert at.told(r).properties == only
    assert at.told(r).witnessed.keys() <= {"durability"}


@pytest.mark.slow(seconds=2)
def test_fewer_states_are_visited_for_the_same_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "SMALL", 1000)
    model = ModelRequest(nodes=3, txns=2, budgets={"timeouts": 1, "crashes": 0, "losses": 0})
    r = Explore(**vars(model), trace="").answer().exploration
    assert conclusive(r)
    assert r.properties == judged("zab")
    assert "delivered-is-chosen and durability checked at deliveries" in r.merged
    assert r.distinct < 104_328, "with every property judged as it is"


@pytest.mark.usefixtures("of_the_tests")
@pytest.mark.slow(seconds=3)
def test_where_what_it_follows_from_breaks_it_is_judged_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "SMALL", 100)
    never = Property(
        "nothing-delivered", STEP, "a test", "something is delivered", false_properties.nothing_delivered,
        DELIVERS_CHOSEN.witness, default=False, sooner=True,
    )  # fmt: skip
    of = AtDelivery.of

    def wrongly(model: Model, judging: tuple[Property, ...], unmet: set[str]) -> AtDelivery:
        found = of(model, judging, unmet)
        return replace(found, replaced=tuple(replace(p, follows_from=(never,)) for p in found.replaced))

    monkeypatch.setattr(AtDelivery, "of", wrongly)
    asked: list[int] = []
    real = AmpleExplorer.run
    monkeypatch.setattr(AmpleExplorer, "run", lambda self, *how: asked.append(1) or real(self, *how))
    model = ModelRequest(nodes=2, txns=2, budgets={"timeouts": 1, "crashes": 0, "losses": 0})
    r = Explore(**vars(model), trace="").answer().exploration
    assert len(asked) == 2
    assert not r.violations
    assert r.complete
    assert "checked at" not in r.merged


class Looking(DeliveryModel):
    """A model whose deliveries look at what was delivered in the same step."""

    @property
    def observing(self) -> tuple[ModuleType, ...]:
        return (*super().observing, looking_at_deliveries)


@pytest.mark.slow(seconds=1)
def test_what_a_step_says_may_decide_nothing() -> None:
    code = Narrowing(Looking(TWO), judged("zab"), False, ())
    assert "delivered_now" in code.classes.why_not
    assert not Narrowing(DeliveryModel(TWO), judged("zab"), False, ()).classes.why_not


def test_the_ghosts_are_those_of_the_model_as_it_is() -> None:
    plain, noting = Model(TWO).program, at_deliveries.DeliveryModel(TWO).program
    assert plain.initial().key() == noting.initial().key()
    assert "delivered_now" not in plain.layout.fields
