"""Disks: images of what is written and not forced, loss of power, and failing within a step (section 11)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from zabspec.second.kinds import NOBODY, Fault, Int
from zabspec.second.state import NODE, Field, Role, part

OF_DISKS = ("power_losses", "outages")  # the budgets of models with disks
FAILURES = {"crashes": (25, "crash"), "power_losses": (26, "power_loss"), "outages": (34, "outage")}  # within a step


class Failed(Exception):
    """The process fails at this point of its handler (S12)."""


class Disks:
    """The part of a world that knows disks and points."""

    disks = False
    handling = True  # whether a handler runs: a start or an environment step makes no images
    failing = NOBODY  # who fails within the step that runs, at a point to be decided
    as_if_power = False  # S14
    depth = 0  # observations under way

    def disk_fields(self) -> list[Field]:
        """Return the fields of the disks (W7)."""
        unforced = part("unforced", Int(0, self.model.unforced), Role.NETWORK, "disks", NODE)
        images = []
        for f in self.model.fields:
            if f.disk:
                axes = (NODE, self.model.unforced + 1, *f.axes[1:])
                images.append(part(f"{f.name}_images", f.kind, Role.NETWORK, "disks", *axes))
        return [unforced, *images]

    def prepare_disks(self) -> None:
        """Work out the places of on-disk fields and images in a state, and wrap observations as points."""
        if not self.disks:
            return
        layout, on_disk = self.layout, [f for f in self.model.fields if f.disk]
        self.present = [[k for f in on_disk for k in layout.entries(f, p)] for p in range(self.n)]
        self.images = [
            [
                [k for f in on_disk for k in self._image(layout.by_name[f"{f.name}_images"], p, image)]
                for image in range(self.model.unforced + 1)
            ]
            for p in range(self.n)
        ]
        fields = [f for f in self.model.fields if f.role is Role.PERSISTENT]
        self.owner = {k: p for f in fields for p in range(self.n) for k in layout.entries(f, p)}
        for name, _, function in self.program.marked("observation"):
            self.program.names[name] = self._observed(function)

    def _image(self, field: Field, p: int, image: int) -> range:
        places, size = self.layout.entries(field, p), field.stride // (self.model.unforced + 1)
        return places[image * size : (image + 1) * size]

    def _observed(self, function: Callable) -> Callable:
        def observe(*args: Any) -> None:
            self.depth += 1
            try:
                function(*args)
            finally:
                self.depth -= 1
            self.point()

        return observe

    # --- images ---

    def makes_images(self) -> bool:
        """Whether power may be lost still (S7, S14)."""
        return self.as_if_power or any(self.has_left(b) for b in OF_DISKS)

    def wrote(self, place: int) -> None:
        """Note that a statement has written a persistent field: a write (S2, S3), and a point (S11)."""
        if not self.handling:
            return
        p = self.owner[place]
        if self.makes_images():
            last = self.s.unforced[p]
            now = [self.cells[k] for k in self.present[p]]
            if now != [self.cells[k] for k in self.images[p][last]]:
                if last == self.model.unforced:
                    raise Fault(f"p{p} has no room for another unforced write", capacity=True)
                self.s.unforced[p] = last + 1
                self._fill(p, last + 1, now)
        self.point()

    def _fill(self, p: int, image: int, values: list) -> None:
        for k, value in zip(self.images[p][image], values, strict=True):
            self.cells[k] = value

    def _clear(self, p: int, first: int) -> None:
        """Make image `first` and all behind it the low end, and none of them unforced."""
        for image in self.images[p][first:]:
            for k in image:
                self.cells[k] = self.low[k]
        self.s.unforced[p] = 0

    def do_force(self, p: int) -> None:
        """Force the disk of p (S5, S7)."""
        self.process(p)
        if self.disks and self.makes_images():
            self._clear(p, 1)
            self._fill(p, 0, [self.cells[k] for k in self.present[p]])
        self.point()

    def forced(self, p: int) -> None:
        """Count what p has on its disk as forced (S9)."""
        if not self.disks:
            return
        self._clear(p, 1)
        self._fill(p, 0, [self.cells[k] for k in self.present[p]])
        if not any(self.has_left(b) for b in OF_DISKS):
            for q in range(self.n):
                self._clear(q, 0)

    def keep(self, p: int, image: int) -> None:
        """Make the on-disk fields of p what an image has."""
        for k, kept in zip(self.present[p], self.images[p][image], strict=True):
            self.cells[k] = self.cells[kept]

    def lose_power(self, p: int, kept: int) -> None:
        """Lose the power of p, which keeps so many of its writes (S6)."""
        self.spend("power_losses")
        self.keep(p, kept)
        self.forced(p)
        self.crash(p)

    def outage(self) -> None:
        """Lose the power of all, each of which keeps some of its writes (S17)."""
        self.spend("outages")
        self.all_lose([self.decide(self.s.unforced[q] + 1) for q in range(self.n)])
        self.crash_all(range(self.n))

    def all_lose(self, kept: list[int]) -> None:
        for q in range(self.n):
            self.keep(q, kept[q])
        for q in range(self.n):
            self.forced(q)

    def crash_all(self, processes: Iterable[int]) -> None:
        for q in processes:
            if self.up(q):
                self.crash(q)

    # --- failing within a step ---

    def point(self) -> None:
        """Pass a point of S11: the process that fails may fail here."""
        if self.failing != NOBODY and not self.depth and self.decide(2):
            raise Failed

    def failing_steps(self, steps: list) -> Iterator[Any]:
        """Yield, for each enabled step that a process may fail inside, the step in which it does (S10, S15)."""
        if not self.disks:
            return
        for budget, (number, name) in FAILURES.items():
            if not self.has_left(budget):
                continue
            more = self.cells[self.left[budget]] > 1
            for step in steps:
                if step.fails and (more or step.own != budget):
                    effect = lambda b=budget, e=step.effect, p=step.process: self.fail_within(b, e, p)  # noqa: E731
                    yield type(step)(f"{name}_inside", number, effect, step.process, step.peer, step.message)
                if step.label == "elect":
                    for p in (step.process, *step.effect.quorum):
                        effect = lambda b=budget, e=step.effect, p=p: self.fail_electing(b, e, p)  # noqa: E731
                        yield type(step)(f"{name}_electing", number + 4, effect, p)

    def fail_within(self, budget: str, effect: Callable, p: int) -> None:
        """Do a step up to a point, at which p fails (S11-S14)."""
        self.spend(budget)
        self.as_if_power, self.failing = budget in OF_DISKS, p
        whole = False
        try:
            effect()
            whole = True
        except Failed:
            self.depth = 0
        except BaseException:
            self.as_if_power = False
            raise
        finally:
            self.failing = NOBODY
        self.end_failed(budget, p, whole)

    def fail_electing(self, budget: str, effect: Any, failing: int) -> None:
        """Hold an election in which one process's part stops at a point (S15)."""
        self.spend(budget)
        self.as_if_power = budget == "power_losses"
        whole = True

        def part_of(p: int, run: Callable) -> None:
            nonlocal whole
            self.failing = p if p == failing else NOBODY
            try:
                run()
            except Failed:
                whole, self.depth = False, 0
            finally:
                self.failing = NOBODY

        try:
            effect(part_of)
        except BaseException:
            self.as_if_power = False
            raise
        self.end_failed(budget, failing, whole)

    def end_failed(self, budget: str, p: int, whole: bool) -> None:
        """Set what p has on its disk, and crash it (S12, S14)."""
        self.as_if_power = False
        if budget == "power_losses":
            if not whole:
                self.keep(p, self.decide(self.s.unforced[p] + 1))
            self.forced(p)
        elif budget == "outages":
            last = self.s.unforced
            self.all_lose([last[q] if whole else self.decide(last[q] + 1) for q in range(self.n)])
            self.crash_all(q for q in range(self.n) if q != p)
        self.crash(p)
