"""What each request gets: plain JSON in, plain JSON out, without HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from checker.requests.walk import WalkRequest, row_of
from checker.walk.continuing import Bounds
from checker.walk.jobs import GOALS, Jobs
from checker.walk.page import saved_page
from checker.walk.searching import QUANTIFIERS, words_of_search
from checker.walk.served import Served, Serving, address_of
from traces.explain.names import counted
from traces.record.file import trace_text
from traces.record.trace import text_of
from traces.walk.address import Address
from traces.walk.compare import Comparison, compared, fields, only_here
from traces.walk.cover import NEVER, POSSIBLE, RAN, CoveredFunction, covered
from traces.walk.saved import check_current, trace_of
from traces.walk.view import about, drawn, shown
from traces.walk.walker import Place

if TYPE_CHECKING:
    from zabspec.protocols.registry import Protocol

__all__ = ["BadRequest", "Card", "Service"]


class BadRequest(Exception):
    """A request is not one that there is: one sentence says why."""


@dataclass(frozen=True)
class Card:
    """A model to begin with, for a command line that names none.

    Attributes:
        title: what it is.
        summary: why one would walk there.
        request: the model.
    """

    title: str
    summary: str
    request: WalkRequest


class Service:
    """What a server does.

    Args:
        serving: the models.
        first: the address that is opened first; empty: cards.
        cards: models to begin with.
        bounds: of every job.
    """

    def __init__(self, serving: Serving, first: str, cards: tuple[Card, ...], bounds: Bounds) -> None:
        self.serving, self.first, self.cards = serving, first, cards
        self.jobs = Jobs(serving, bounds)
        self.does: Mapping[str, Callable[[Fields], dict[str, Any]]] = {
            "start": self.start,
            "view": self.view,
            "trace": self.trace,
            "page": self.page,
            "cover": self.cover,
            "lines": self.lines,
            "watch": self.watch,
            "reload": self.reload,
            "compare": self.compare,
            "pair": self.pair,
            "others": self.others,
            "job": self.job,
            "search": self.search,
            "names": self.names,
            "progress": self.progress,
            "cancel": self.cancel,
        }

    def start(self, given: Fields) -> dict[str, Any]:
        """Where a walk begins."""
        cards = [{"title": c.title, "summary": c.summary, "address": address_of(c.request).text} for c in self.cards]
        return {"address": self.first, "cards": cards}

    def view(self, given: Fields) -> dict[str, Any]:
        """All that is shown of a place."""
        address = Address.read(given.text("address"))
        with self.serving.at(address) as (found, here, whole):
            return {**self.places(found, here, whole), "picture": drawn(whole, address.at)}

    def places(self, found: Served, here: Place, whole: Place) -> dict[str, Any]:
        """A place and its address."""
        address = found.address(whole.path, len(here.path))
        return {
            "address": address.text,
            "command": f"zabcheck walk {quote(address.text)}",
            "about": about_of(found),
            "reloads": not found.walker.model.protocol.text.released,
            "place": shown(here),
            "ahead": len(whole.path) - len(here.path),
        }

    def trace(self, given: Fields) -> dict[str, Any]:
        """The way to a place as a trace file."""
        address = Address.read(given.text("address"))
        with self.serving.at(address) as (_, here, _):
            trace = trace_of(here)
        name = trace.property_name or "walk"
        return {
            "name": f"zabcheck-{name}.trace.json",
            "text": trace_text(trace),
            "sentence": f"{len(trace.steps)} steps, replayed in the simulator",
        }

    def page(self, given: Fields) -> dict[str, Any]:
        """A walk as one file."""
        address = Address.read(given.text("address"))
        levels = given.number("levels", 1, 2)
        with self.serving.at(address) as (found, _, whole):
            made = saved_page(
                found, replace(address, at=min(address.at, len(whole.path))), whole, levels, about_of(found)
            )
        return {"name": "zabcheck-walk.html", "text": made.text, "sentence": made.said}

    def cover(self, given: Fields) -> dict[str, Any]:
        """Which lines of the protocol ran on the way to a place."""
        with self.serving.at(Address.read(given.text("address"))) as (found, here, _):
            check_current(found.walker)
            return {"functions": functions_told(covered(here))}

    def lines(self, given: Fields) -> dict[str, Any]:
        """Begin to look for lines and steps that never run."""
        return {"job": self.jobs.lines(Address.read(given.text("address")))}

    def watch(self, given: Fields) -> dict[str, Any]:
        """Whether the source of a model is another by now."""
        found = self.serving.model(Address.read(given.text("address")))
        return {"changed": text_of(found.request.model.protocol) != found.walker.model.protocol.text.digest}

    def reload(self, given: Fields) -> dict[str, Any]:
        """Read the source of a model again, and take the same steps as far as they are possible."""
        address = Address.read(given.text("address"))
        with self.serving.at(address) as (found, _, whole):
            fresh = self.serving.reload(found.request)
            with fresh.lock:
                result = compared(whole, fresh.walker)
            taken, steps = len(result.end.path), len(whole.path)
        said = f"reloaded: all {steps} steps are possible as before"
        if result.refused:
            said = f"reloaded: step {taken + 1} is no longer possible ({result.refused}); this is the state before it"
        elif result.first is not None:
            said = f"reloaded: all {steps} steps are possible; the first difference is after {result.first.at} steps"
        at = taken if result.refused else min(address.at, taken)
        return {"address": fresh.address(result.end.path, at).text, "sentence": said}

    def others(self, given: Fields) -> dict[str, Any]:
        """Models that the one of an address may be compared with."""
        address = Address.read(given.text("address"))
        with self.serving.at(address) as (found, _, _):
            return {"others": [[name, other.text] for name, other in others_of(found.request)]}

    def compare(self, given: Fields) -> dict[str, Any]:
        """The way of an address in another model: how far, and where both first differ."""
        address, other = Address.read(given.text("address")), Address.read(given.text("other"))
        with self.serving.both(address, replace(other, way=(), at=0)) as ((found, _, whole), (theirs, _, _)):
            if theirs is found:
                raise BadRequest("this is the same model")
            result = compared(whole, theirs.walker)
            there = theirs.address(result.end.path)
        first, taken, steps = result.first, len(result.end.path), len(whole.path)
        return {
            "address": there.text,
            "sentence": sentence_of(result, steps),
            "taken": taken,
            "first": None
            if first is None
            else {
                "at": first.at,
                "left": list(first.left),
                "right": list(first.right),
                "fields": [list(each) for each in first.fields],
                "address": theirs.address(result.end.path, min(first.at, taken)).text,
            },
            "uncompared": list(result.alone),
        }

    def pair(self, given: Fields) -> dict[str, Any]:
        """Two models side by side: what differs where both stand, and where one follows the other to."""
        left, right = Address.read(given.text("left")), Address.read(given.text("right"))
        leads = given.text("leads")
        if leads not in ("", "left", "right"):
            raise BadRequest("leads is left, right or empty")
        with self.serving.both(left, right) as (first, second):
            mine, theirs = (second, first) if leads == "right" else (first, second)
            result = compared(mine[2], theirs[0].walker)
            at, taken = len(mine[1].path), len(result.end.path)
            follows, refused = "", ""
            if leads:
                follows = theirs[0].address(result.end.path, min(at, taken)).text
                refused = result.refused if at > taken else ""
                theirs = (theirs[0], theirs[0].walker.place(result.end.path[: min(at, taken)]), result.end)
            here, there = (theirs[1], mine[1]) if leads == "right" else (mine[1], theirs[1])
            together = taken >= at and theirs[1].path == result.end.path[:at]
            return {
                "sentence": sentence_of_pair(result, at, together, "right" if leads == "right" else "left"),
                "first": None if result.first is None else result.first.at,
                "together": together,
                "follows": follows,
                "refused": refused,
                "marks": {
                    "left": marks_of(here, there),
                    "right": marks_of(there, here),
                },
            }

    def job(self, given: Fields) -> dict[str, Any]:
        """Begin to look for a way."""
        address = Address.read(given.text("address"))
        goal = given.text("goal")
        if goal not in GOALS:
            raise BadRequest(f"there is no goal {goal[:40]!r}; there are {', '.join(GOALS)}")
        return {"job": self.jobs.begin(address, goal, given.text("property"), given.flag("here"))}

    def search(self, given: Fields) -> dict[str, Any]:
        """Begin to look for a state of which an expression is true."""
        address = Address.read(given.text("address"))
        return {"job": self.jobs.search(address, given.text("expression"), given.flag("here"))}

    def names(self, given: Fields) -> dict[str, Any]:
        """What an expression may name."""
        with self.serving.at(Address.read(given.text("address"))) as (found, _, _):
            return {"names": words_of_search(found.walker.model), "quantifiers": list(QUANTIFIERS)}

    def progress(self, given: Fields) -> dict[str, Any]:
        """How far a job is."""
        told = self.jobs.told(given.number("job", 1, 1 << 30))
        looked = told.pop("looked", None)
        if looked is None:
            return told
        shown = {"functions": functions_told(looked.functions), "steps": list(looked.never)}
        return told | shown | {"complete": looked.complete}

    def cancel(self, given: Fields) -> dict[str, Any]:
        """End a job."""
        self.jobs.cancel(given.number("job", 1, 1 << 30))
        return {}

    def close(self) -> None:
        """End all jobs."""
        self.jobs.close()


def about_of(found: Served) -> dict[str, Any]:
    """What is so of a model at every place; of the release of a known bug what happens there too."""
    told, row = about(found.walker), row_of(found.walker.model.configuration)
    return told if row is None else {**told, "changed": [f"ZK-{row.issue}: {row.says.rstrip('.')}", *told["changed"]]}


def fix_said(protocol: Protocol, name: str) -> str:
    """A fix, and what it does."""
    return f"the fix {name}: {' '.join(protocol.variants[name].summary.split())}"


def others_of(request: WalkRequest) -> Iterator[tuple[str, Address]]:
    """Models to compare one with, each with its name: without what is changed in it, with one more fix, other releases.
    What merges steps stays: the steps of the others are then alike."""
    from traces.explain.text import parted
    from zabspec.protocols.registry import PROTOCOLS

    c = request.configuration()
    first, parts, protocol = address_of(request), parted(c), PROTOCOLS[c.protocol]
    rest = {name: value for name, value in first.options.items() if name not in ("variant", "release", "repair")}

    def model(*names: str) -> Address:
        said = ",".join(filter(None, names))
        return Address(first.protocol, rest | ({"variant": said} if said else {}))

    if not parts.release:
        if c.variant:
            yield f"{c.protocol} without {' and '.join(parts.rules + parts.fixes)}", model(*parts.merged)
        return
    of = [name for name in c.variant.split(",") if name in protocol.declared.releases]
    row = row_of(c)
    if row is not None:  # what the release of a known bug lacks
        said = fix_said(protocol, row.fix[0]) if len(row.fix) == 1 else f"the fixes {', '.join(row.fix)}"
        yield f"this release with {said}", model(*of, *parts.fixes, *row.fix, *parts.merged, *parts.rules)
    for name, variant in protocol.variants.items():
        if variant.repairs and name not in parts.fixes and (row is None or (name,) != row.fix):
            named = fix_said(protocol, name)
            yield f"this release with {named}", model(*of, *parts.fixes, name, *parts.merged, *parts.rules)
    for variant_name, numbers in protocol.declared.releases.items():
        number = next((n for n in numbers if n[:1].isdigit()), variant_name)
        yield f"{number}, as it was released", model(variant_name, *parts.merged)


def sentence_of(c: Comparison, steps: int) -> str:
    """What a comparison comes to."""
    if c.first is None:
        return f"Both take all {steps} steps, with the same states and the same possible steps."
    what = " and ".join(
        ["the possible steps differ"] * bool(c.first.left or c.first.right)
        + ["the states differ"] * bool(c.first.fields)
    )
    where = f"After {c.first.at} steps {what}" if c.first.at else f"In the initial state {what}"
    if c.refused:
        return f"{where}; the other model does not take step {len(c.end.path) + 1} ({c.refused})."
    return f"{where}; both take all {steps} steps."


def sentence_of_pair(c: Comparison, at: int, together: bool, leads: str) -> str:
    """What there is to say of two models side by side.

    Args:
        c: the steps of the one that leads, taken in the other.
        at: after how many of them it stands.
        together: the other stands after the same steps.
        leads: which of them leads.
    """
    if c.first is None:
        count = len(c.end.path)
        if not together:
            return f"Each continues separately. Along the steps of the {leads} both are equal."
        return (
            f"Both are equal along the run of {counted(count, 'step')}."
            if count
            else ("Both have equal initial states.")
        )
    what = " and ".join(["possible steps"] * bool(c.first.left or c.first.right) + ["states"] * bool(c.first.fields))
    where = f"Both first differ after {counted(c.first.at, 'step')}, in their {what}"
    if c.refused and at > len(c.end.path):
        other = "left" if leads == "right" else "right"
        return (
            f"{where}. The {other} does not take step {len(c.end.path) + 1} ({c.refused}): each continues separately."
        )
    return (
        f"{where}."
        if together
        else f"Each continues separately. Along the steps of the {leads}: {where[0].lower()}{where[1:]}."
    )


def marks_of(here: Place, there: Place) -> dict[str, Any]:
    """What is marked at a place beside another: steps that the other does not have, and fields that differ."""
    return {
        "depth": len(here.path),
        "steps": [p.index for p in only_here(here, there)],
        "fields": [name for name, _, _ in fields(here, there)],
    }


def functions_told(functions: Iterable[CoveredFunction]) -> list[dict[str, Any]]:
    """Functions with their lines marked, as the page has them."""
    return [{"name": f.name, "file": f.file, "lines": [list(line) for line in f.lines], **counts(f)} for f in functions]


def counts(f: CoveredFunction) -> dict[str, int]:
    """How many lines of a function ran, might have, and never did."""
    return {mark: f.count(mark) for mark in (RAN, POSSIBLE, NEVER)}


class Fields:
    """The fields of a request, each read once.

    Args:
        given: the JSON of its body.

    Raises:
        BadRequest: it is no object.
    """

    def __init__(self, given: object) -> None:
        if not isinstance(given, dict):
            raise BadRequest("a request is a JSON object")
        self.given = given

    def text(self, name: str) -> str:
        """
        Raises:
            BadRequest: it is no text.
        """
        value = self.given.get(name)
        if not isinstance(value, str) or any("\ud800" <= c <= "\udfff" for c in value):
            raise BadRequest(f"{name} must be a string")
        return value

    def number(self, name: str, low: int, high: int) -> int:
        """
        Raises:
            BadRequest: it is no whole number in this range.
        """
        value = self.given.get(name)
        if type(value) is not int or not low <= value <= high:
            raise BadRequest(f"{name} must be a whole number, {low} to {high}")
        return value

    def flag(self, name: str) -> bool:
        """
        Raises:
            BadRequest: it is neither true nor false.
        """
        value = self.given.get(name, False)
        if type(value) is not bool:
            raise BadRequest(f"{name} must be true or false")
        return value
