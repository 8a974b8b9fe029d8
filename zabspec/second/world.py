"""What both worlds share: hooks, choices, budgets, crashes, actions and environment steps (sections 3, 4, 6, 10)."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from zabspec.second.disks import OF_DISKS, Disks
from zabspec.second.history import History
from zabspec.second.kinds import NO_MESSAGE, NOBODY, Bool, Fault, Int, Letter, MessageUnion, SetOf
from zabspec.second.language import Mark, Size
from zabspec.second.load import Program
from zabspec.second.state import NODE, Field, Layout, Role, part

WRITING = {"add", "append", "clear", "discard", "pop"}  # methods of places
LOOKING = {  # what only looks, with what `load.py` writes in
    "broken", "is_a", "is_down", "is_quorum", "only", "processes", "__asserted__", "__checked__", "__kept__",
    "__members__",
}  # fmt: skip
ANNOTATIONS = {"event": 0, "event_process": NOBODY, "event_peer": NOBODY, "event_message": NO_MESSAGE}


@dataclass
class Model:
    """One configuration of a protocol (M1), as a world needs it."""

    program: Program
    size: Size
    fields: list[Field]
    messages: MessageUnion
    network: int
    amounts: dict[str, int]  # of every budget
    own: list[str]  # the budgets of the protocol's own
    up: int  # capacities of the network
    down: int
    unforced: int
    drift: int | None = None  # by how much clocks differ (T1); None: there are none
    founders: list[int] | None = None  # who is a member at the beginning (U1); None: members do not change
    user: bool = True
    keeps_down: bool = False  # the protocol says itself who is down (F1)
    transactions: bool = False
    revises: bool = False
    elects: tuple[str, ...] = ()
    literal: bool = False
    starts: tuple[Callable, ...] = ()  # what sets the initial states, in order
    counts: dict[str, int] = field(default_factory=dict)  # processes of each role (A1)

    @property
    def ranges(self) -> dict[str, range]:
        """The processes of each role, by the name of its type (A1)."""
        out, begin = {}, 0
        for role, count in self.counts.items():
            out["".join(word.capitalize() for word in role.split("_"))] = range(begin, begin + count)
            begin += count
        return out


@dataclass(slots=True)
class Step:
    """An enabled step: its label and number in the tables, its effect, and its annotations (P4).

    `fails` says whether `process` may fail inside it, and `own` is the action's own budget (S10).
    """

    label: str
    number: int
    effect: Callable[[], Any]
    process: int = NOBODY
    peer: int = NOBODY
    message: Letter | None = None
    fails: bool = False
    own: str = ""


class NothingToChoose(Exception):
    """A step chooses from an empty set before it has done anything (E12)."""


def may_act(code: Any, names: dict[str, Any]) -> bool:
    """Whether a function may write or choose, or calls one that may, whatever it does here (E12)."""
    for each in dis.get_instructions(code):
        method = each.opname in ("LOAD_ATTR", "LOAD_METHOD") and each.argval in WRITING
        if method or each.opname in ("STORE_SUBSCR", "STORE_ATTR"):
            return True
    for name in code.co_names:
        called = names.get(name)
        if isinstance(called, FunctionType):
            looks = name in LOOKING if called.__globals__ is not names else not may_act(called.__code__, names)
            if not looks:
                return True
    return any(may_act(held, names) for held in code.co_consts if isinstance(held, CodeType))


class World(Disks, History):
    """A model that can be run: its states, the steps of each, and their results.

    Args:
        model: the configuration.
    """

    BUDGETS: tuple[str, ...] = ()  # the world's own that are always in the state (W5)

    def __init__(self, model: Model) -> None:
        self.model, self.program, self.n = model, model.program, model.size.nodes
        self.may_act = cache(lambda code: may_act(code, self.program.names))
        amounts = model.amounts
        self.tracks = model.user and not model.keeps_down
        fails = any(amounts.get(b) for b in ("crashes", *OF_DISKS))
        self.disks = fails and any(f.disk for f in model.fields)
        self.faults = self.tracks and (self.disks or amounts.get("crashes", 0) > 0)
        budgets = [*self.BUDGETS, *(OF_DISKS if self.disks else []), *model.own]
        fields = [*model.fields, *self.network_fields()]
        if model.founders is not None:
            sets = [(name, SetOf(self.n, nodes=True)) for name in ("members", "departed")]
            fields += [Field(name, kind, Role.ENVIRONMENT) for name, kind in sets]
        fields += [Field("clock_ahead", Int(0, model.drift), Role.ENVIRONMENT, (NODE,))] if model.drift else []
        fields += [
            part(f"{b}_left", Int(0, amounts.get(b, 0)), Role.BUDGET, "budgets", key=b) for b in dict.fromkeys(budgets)
        ]
        fields += [part("crashed", Bool(), Role.GHOST, "ghosts", NODE)] if self.faults else []
        fields += self.history_fields() if model.transactions else []
        fields += self.disk_fields() if self.disks else []
        self.actions = self._steps("action")
        self.fair = {  # the marks of the steps that a fair run takes, by label (G1)
            f"{kind}:{mark.name or name.replace('_', '-')}": mark
            for kind in ("action", "environment")
            for name, mark, _ in self.program.marked(kind)
            if mark.fair and not mark.budget
        }
        self.clocks = [f for f in model.fields if f.clock_of is not None]
        if self.clocks:
            self.fair["action:clock-ticks"] = Mark("action", "clock-ticks")
        self.changes = self._steps("environment")
        self.layout = Layout(fields, self.n, self._constants())
        self.left = {b: self.layout.offset[f"{b}_left"] for b in budgets}
        self.s = self.layout.object(self.wrote if self.disks else None)
        self.s.__world__, self.cells = self, self.s.__cells__
        self.volatile = [
            [k for f in model.fields if f.role is Role.VOLATILE for k in self.layout.entries(f, p)]
            for p in range(self.n)
        ]
        self.low = list(self.layout.initial)
        self.trail: list[list[int]] = []
        self.at, self.product, self.accepts, self.accept_epoch = 0, 1, 0, 0
        self.point_of_receipt = 0
        self.asking: tuple[Any, tuple] | None = None
        self.prepare_disks()
        self.receivers = self._receivers()

    def _constants(self) -> dict[str, Any]:
        model = self.model
        constants = {name.upper(): amount for name, amount in (model.amounts | model.counts).items()}
        constants |= {"NODES": self.n, "TXNS": model.size.txns}
        constants |= {} if model.size.system or model.counts else {"MAJORITY": model.size.majority}
        constants |= {
            "EPOCHS": model.size.epochs,
            "ACTIONS": len(self.actions) + bool(self.clocks),
            "CHANGES": len(self.changes),
        }
        constants |= {"NETWORK": model.network, "FLIGHT": model.up, "UP": model.up, "DOWN": model.down}
        constants |= {"IMAGES": model.unforced + 1, "ELECTS": int(bool(model.elects)), "LITERAL": int(model.literal)}
        return constants | ANNOTATIONS | {"accepts": 0, "accept_epoch": 0}

    def _steps(self, sort: str) -> list[tuple[str, str, Callable | None, Callable]]:
        """Return label, budget, guard and function of each action, or of each environment step (L4).

        Guard and function of a timer that fires read and disarm it (B6).
        """
        return [
            (
                f"{sort}:{mark.name or name.replace('_', '-')}",
                mark.budget,
                self.if_armed(mark, mark.when and self.program.current(mark.when)),
                self.moving(mark, self.disarming(mark, function)),
            )
            for name, mark, function in self.program.marked(sort)
        ]

    @staticmethod
    def if_armed(mark: Any, when: Callable | None) -> Callable | None:
        """Return a guard that asks of the timer first (B6)."""
        if not mark.timer:
            return when
        return lambda s, p: getattr(s, mark.timer)[p] and (when is None or when(s, p))

    @staticmethod
    def disarming(mark: Any, function: Callable) -> Callable:
        """Return a step that disarms its timer first (B6)."""
        if not mark.timer:
            return function

        def fires(s: Any, p: int) -> None:
            getattr(s, mark.timer)[p] = False
            function(s, p)

        fires.__name__ = function.__name__  # whose processes it is of follows from that
        return fires

    def moving(self, mark: Any, function: Callable) -> Callable:
        """Return a step by which a process joins or leaves, if it is one (U3)."""
        if not mark.moves:
            return function

        def moves(s: Any, p: int) -> None:
            if mark.moves == "joins":
                s.members.add(p)
            function(s, p)
            if mark.moves == "leaves":
                self.do_forget(p)
                s.members.discard(p)
                s.departed.add(p)

        moves.__name__ = function.__name__
        vars(moves).update(joins=mark.moves == "joins", **({"step": function} if mark.moves == "leaves" else {}))
        return moves

    def outside(self, s: Any, p: int) -> bool:
        """Whether p is no member in the state that `s` shows (U2)."""
        return self.model.founders is not None and p not in s.members

    def _receivers(self) -> dict[tuple[int, str | None], Callable]:
        """Return the `@receives` functions by their number of parameters and kind of message."""
        found: dict[tuple[int, str | None], Callable] = {}
        for name, _, function in self.program.marked("receives"):
            found[function.__code__.co_argcount, self.program.messages_of(function, name)[-1]] = function
        return found

    # --- what worlds define ---

    def network_fields(self) -> list[Field]:
        """Return the fields of the network."""
        raise NotImplementedError

    def network_steps(self) -> Iterator[Step]:
        """Yield the enabled steps that only this world has."""
        raise NotImplementedError

    def cut_off(self, p: int) -> None:
        """Do to the network what a crash of p does."""

    def in_flight(self, s: Any) -> Iterator[Letter]:
        """Yield all messages in flight in the state that `s` shows."""
        raise NotImplementedError

    # --- functions that the world calls (section 3.2) ---

    def has(self, name: str) -> bool:
        """Whether the protocol or its variant defines a function of section 3.2."""
        return self.program.hook(name) is not None

    def takes(self, function: Callable) -> range:
        """Return the processes that a function is of, by the type of its second parameter (A3)."""
        original = self.program.base.get(function.__name__, function)
        code = original.__code__
        given = str(original.__annotations__.get(code.co_varnames[1], "")) if code.co_argcount > 1 else ""
        return self.model.ranges.get(given, range(self.n))

    def hook_of(self, name: str, args: tuple) -> Callable | None:
        """Return the function of section 3.2 that concerns its arguments: a role's own for its processes (A3)."""
        if args and self.model.counts and name != "is_down":
            for role, members in zip(self.model.counts, self.model.ranges.values(), strict=True):
                if args[0] in members and f"{name}_{role}" in self.program.visible:
                    return self.program.hook(f"{name}_{role}")
        return self.program.hook(name)

    def ask(self, name: str, default: Any, *args: Any) -> Any:
        """Return what a function of section 3.2 gives, or the default if the protocol does not define it."""
        function = self.hook_of(name, args)
        return default if function is None else function(self.s, *args)

    def handle(self, name: str, *args: Any) -> None:
        """Run a handler of section 3.2, if there is one; point 1 of S11 is before it."""
        self.point()
        self.ask(name, None, *args)

    def call(self, name: str, *args: Any) -> Any:
        """Run a function of the world, or what takes its place in this model (N1, N2)."""
        function = self.program.hook(name)
        replaced = getattr(function, "__globals__", None) is self.program.names
        own = name == "is_down" and self.model.keeps_down
        if replaced and (not self.model.user or own or name in self.program.overrides):
            return function(self.s, *args)
        return getattr(self, "do_" + name)(*args)

    def up(self, p: int) -> bool:
        """Whether process p is up (F1)."""
        return not self.call("is_down", p)

    def has_left(self, budget: str) -> bool:
        """Whether a budget is left; a step without one (`""`) is free."""
        return not budget or (budget in self.left and self.cells[self.left[budget]] > 0)

    def spend(self, budget: str) -> None:
        """Spend one of a budget."""
        if budget:
            self.cells[self.left[budget]] -= 1

    def process(self, p: int) -> int:
        """Return p, or raise a `Fault` if it is no process (R1)."""
        if 0 <= p < self.n:
            return p
        raise Fault(f"{p} is no process")

    # --- functions that handlers call ---

    def do_forget(self, p: int) -> None:
        """Make all volatile fields of p their low ends."""
        for k in self.volatile[self.process(p)]:
            self.cells[k] = self.low[k]

    def do_is_down(self, p: int) -> bool:
        """Whether p has crashed and not recovered."""
        return self.down(self.s, p)

    def down(self, s: Any, p: int) -> bool:
        """Whether p is down in the state that `s` shows (F1)."""
        return self.outside(s, p) or bool(self.faults and s.crashed[p])

    def do_choose(self, k: int) -> int:
        """Choose one of `0..k-1` (E12)."""
        if k < 1:
            raise Fault(f"choose of {k}")
        self.product *= k
        if self.product > 255:
            raise Fault("more than 255 alternatives", capacity=True)
        return self.decide(k)

    def nothing_to_choose(self, code: Any) -> None:
        """Tell `chooses` that a step itself chooses from an empty set, before it has done anything (E12)."""
        if self.asking == (code, self.cells.writes) and not self.at:
            raise NothingToChoose

    def chooses(self, function: Callable, *args: Any) -> bool:
        """Whether what a step chooses from first, before it has done anything, is there (E12)."""
        step = getattr(function, "step", function)
        code = step.__code__
        if "any_of" not in code.co_names:
            return True
        kept = self.layout.snapshot(self.cells)
        self.asking, self.trail, self.at, self.product = (code, self.cells.writes), [], 0, 1
        self.handling = False

        def called(frame: Any, event: str, _: object) -> None:
            if event != "call" or frame.f_code is code:
                return
            if frame.f_globals is self.model.program.names:
                acts = self.may_act(frame.f_code)
            elif frame.f_back.f_code is not code:
                return
            elif frame.f_code.co_name == "any_of":
                acts = hasattr(frame.f_locals.get("role"), "__supertype__")
            else:
                acts = frame.f_code.co_name in ("call", "any_process", "arm_timer")  # `_acting`: "call"
            if acts:
                self.asking = None

        sys.setprofile(called)
        try:
            step(self.s, *args)
        except NothingToChoose:
            return False
        except (Fault, ZeroDivisionError):
            return True
        finally:
            sys.setprofile(None)
            self.asking, self.handling = None, True
            self.s.__load__(kept)
        return True

    def do_durable(self, point: int) -> bool:
        """Whether the process crashes at this point of its handler (F7)."""
        return self.point_of_receipt == point

    # --- steps ---

    def initials(self) -> Iterator[tuple]:
        """Yield the initial state of each way of choosing (M10), or raise a `Fault` (R5)."""
        trail: list[list[int]] = []
        while True:
            self.trail, self.at, self.product = trail, 0, 0  # a product of 0 has no limit
            yield self.begun()
            while trail and trail[-1][0] + 1 == trail[-1][1]:
                trail.pop()
            if not trail:
                return
            trail[-1][0] += 1

    def begun(self) -> tuple:
        """Return the initial state that follows from the choices."""
        self.s.__load__(tuple(self.low))
        for budget, place in self.left.items():
            self.cells[place] = self.model.amounts.get(budget, 0)
        for p in self.model.founders or ():
            self.s.members.add(p)
        for p in range(self.n):
            self.ask("on_start", None, p)
        for start in self.model.starts:
            self.handling = False
            start(self.s)
            self.handling = True
            for p in range(self.n):
                self.forced(p)
        return self.layout.snapshot(self.cells)

    def steps(self, state: tuple) -> list[Step]:
        """Return the steps enabled in a state (M4), or raise a `Fault` if a guard meets an error (R2)."""
        self.s.__load__(state)
        try:
            steps = [*self.network_steps(), *self._common_steps()]
        except ZeroDivisionError as error:
            raise Fault(str(error)) from error
        return [*steps, *self.failing_steps(steps)]

    def outcomes(self, state: tuple, step: Step) -> Iterator[tuple | Fault]:
        """Yield a result of the step, or its error, for each way of choosing (E12)."""
        trail: list[list[int]] = []
        while True:
            self.s.__load__(state)
            self.trail, self.at, self.product, self.accepts, self.accept_epoch = trail, 0, 1, 0, 0
            try:
                step.effect()
                yield self.layout.snapshot(self.cells)
            except Fault as fault:
                yield fault
            except ZeroDivisionError as error:
                yield Fault(str(error))
            while trail and trail[-1][0] + 1 == trail[-1][1]:
                trail.pop()
            if not trail:
                return
            trail[-1][0] += 1

    def decide(self, k: int) -> int:
        """Return one of `0..k-1`: each of them in one of the step's outcomes."""
        if self.at == len(self.trail):
            self.trail.append([0, k])
        self.at += 1
        return self.trail[self.at - 1][0]

    def _common_steps(self) -> Iterator[Step]:
        abcasts = self.model.transactions and self.s.abcasts < self.model.size.txns
        for p in range(self.n):
            if self.clocks and self.may_tick(p):
                yield Step("action:clock-ticks", 20, lambda p=p: self.tick(p), p)
            if self.outside(self.s, p):
                for label, budget, when, function in self.actions:
                    able = getattr(function, "joins", False) and p in self.takes(function) and self.has_left(budget)
                    may = able and p not in self.s.departed and (when is None or when(self.s, p))
                    if may and self.chooses(function, p):
                        yield Step(label, 20, lambda p=p, b=budget, f=function: self.act(b, f, p), p)
                continue
            if not self.up(p):
                yield Step("recover", 9, lambda p=p: self.recover(p), p, fails=True)
                continue
            if abcasts and self.may_lead(p) and self.ask("may_abcast", False, p):
                yield Step("abcast", 6, lambda p=p: self.handle("on_abcast", p), p, fails=True)
            for label, budget, when, function in self.actions:
                if getattr(function, "joins", False):
                    continue
                may = p in self.takes(function) and self.has_left(budget) and (when is None or when(self.s, p))
                if may and self.chooses(function, p):
                    effect = lambda p=p, b=budget, f=function: self.act(b, f, p)  # noqa: E731
                    yield Step(label, 20, effect, p, fails=True, own=budget)
            if self.has_left("crashes"):
                yield Step("crash", 8, lambda p=p: (self.spend("crashes"), self.crash(p)), p)
            if self.disks and self.has_left("power_losses"):
                for kept in range(self.s.unforced[p] + 1):
                    yield Step("power_loss", 24, lambda p=p, k=kept: self.lose_power(p, k), p)
        for label, budget, when, function in self.changes:
            if self.has_left(budget) and (when is None or when(self.s)) and self.chooses(function):
                yield Step(label, 21, lambda b=budget, f=function: self.change(b, f))
        if self.disks and self.has_left("outages"):
            yield Step("outage", 33, self.outage)

    def may_end(self, seen: Any) -> bool:
        """Whether a run may end in a state without a step, which an object shows (P5)."""
        finals = [f for _, _, f in self.program.marked("final")]
        if finals:
            of_states = [f for f in finals if f.__code__.co_argcount == 1]
            each = [(f, p) for f in finals if f not in of_states for p in self.takes(f)]
            return all(f(seen) for f in of_states) and all(f(seen, p) for f, p in each)
        self.s.__load__(tuple(seen.__cells__))
        up = [p for p in range(self.n) if not self.outside(self.s, p) and self.up(p)]
        never = [p for p in range(self.n) if self.outside(self.s, p) and p not in self.s.departed]
        steps = [(w, f, p) for _, b, w, f in self.actions if b for p in (never if getattr(f, "joins", False) else up)]
        return (
            any(self.ask("timer_armed", False, p, timer) for p in up for timer in (0, 1))
            or any(p in self.takes(f) and (w is None or w(self.s, p)) and self.chooses(f, p) for w, f, p in steps)
            or any(b and (w is None or w(self.s)) and self.chooses(f) for _, b, w, f in self.changes)
        )

    def ticking(self) -> list[int]:
        """Return the processes that have a clock (T2)."""
        whose = {f.clock_of for f in self.clocks}
        roles = zip(self.model.counts, self.model.ranges.values(), strict=True)
        return [*range(self.n)] if "" in whose else [p for role, members in roles if role in whose for p in members]

    def may_tick(self, p: int) -> bool:
        """Whether the clock of p may go on (T3)."""
        if not self.model.drift:
            return any(getattr(self.s, f.name)[p] > 0 for f in self.clocks)
        return p in self.ticking() and self.s.clock_ahead[p] < self.model.drift

    def tick(self, p: int) -> None:
        """Let the clock of p go on by one, without drift those of all (T3, T4)."""
        self.handling = False
        try:
            if self.model.drift:
                now = {q: self.s.clock_ahead[q] + (q == p) for q in self.ticking()}
                slowest = min(now.values())
                for q, ahead in now.items():
                    self.s.clock_ahead[q] = ahead - slowest
            for q in [p] if self.model.drift else range(self.n):
                self.count_down(q)
        finally:
            self.handling = True

    def count_down(self, p: int) -> None:
        """Make the clocks of p smaller, and end the leases whose time is up (T4)."""
        for f in self.clocks:
            left = getattr(self.s, f.name)
            if left[p] > 0:
                left[p] -= 1
                for ended in self.model.fields:
                    if ended.ended_by is f and left[p] == 0:
                        place = self.layout.offset[ended.name] + p
                        self.cells[place] = self.low[place]

    def may_lead(self, p: int) -> bool:
        """Whether the world lets p abcast."""
        return True

    def act(self, budget: str, function: Callable, p: int) -> None:
        """Run an action (B5)."""
        self.spend(budget)
        self.point()
        function(self.s, p)

    def change(self, budget: str, function: Callable) -> None:
        """Run an environment step (B5); it is no handler, and makes no images (S2)."""
        self.spend(budget)
        self.handling = False
        try:
            function(self.s)
        finally:
            self.handling = True

    def crash(self, p: int) -> None:
        """Crash p (F2, F4)."""
        self.cut_off(p)
        if self.hook_of("on_crash", (p,)) is not None:
            self.ask("on_crash", None, p)
        else:
            self.call("forget", p)
        if self.tracks:
            if self.ask("starts_at_once", False, p):
                self.ask("on_recovery", None, p)
            else:
                self.s.crashed[p] = True

    def recover(self, p: int) -> None:
        """Start p again (F3)."""
        if self.tracks:
            self.s.crashed[p] = False
        self.handle("on_recovery", p)
