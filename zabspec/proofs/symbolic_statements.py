"""Run statements and functions in the symbolic world, on states of terms."""

from __future__ import annotations

from collections.abc import Collection

from zabspec.language.analysis import tree as t
from zabspec.language.layout.kinds import Seq, SetOf, bits_for
from zabspec.proofs import symbolic_numbers as n
from zabspec.proofs.symbolic import Env, Expressions, Frame, Loop, Ref, Untranslatable, Value
from zabspec.proofs.symbolic_memory import REGION, SLOTS, Values
from zabspec.proofs.symbolic_terms import Bits, Term, Truth, and_, bit_and, bit_not, bit_or, not_, shift_left

MOST_TURNS = 256  # of a `while`, before it is given up


class SymbolicProgram(Expressions):
    """Runs whole functions of a typed program."""

    def on_states(self, function: str, states: list[Values], args: list[Value]) -> tuple[Value, list[Values]]:
        """Run a function whose first parameters are states.

        Args:
            function: its name.
            states: what every cell of each state holds.
            args: the values of the other parameters.

        Returns:
            Its value, and the states after it.
        """
        self.regions = []
        memory: Values = {}
        bases: list[Value] = []
        for values in states:
            base = self.region(self.cells)
            memory.update({key + (base << SLOTS): value for key, value in values.items()} if base else values)
            bases.append(base)
        env = Env(memory, {}, True, set(), None)
        value = self.run(self.program.functions[function], [*bases, *args], env)
        if len(env.memory) == len(states[0]):  # there is nothing else: no other state, no message
            return value, [env.memory]
        after = [{key: env.memory[key + (k * REGION << SLOTS)] for key in values} for k, values in enumerate(states)]
        return value, after

    def run(self, function: t.Function, args: list[Value], env: Env) -> Value:
        """Run a function; its effects are in `env`."""
        frame = Frame(function, env.here)
        local = {name: value for (name, _), value in zip(function.params, args, strict=True)}
        inner = Env(env.memory, local, True, set(), frame, env.shared)
        if function.paper_step is not None:
            self.enter(function, inner)
        if self.block(function.body, inner, frame):
            self.leave(inner, None, frame)
        assert frame.returned is not None
        if frame.returned.touched:
            env.memory, env.shared = frame.returned.memory, frame.returned.shared
            env.touched = env.touched | frame.returned.touched
        return frame.value

    def enter(self, function: t.Function, env: Env) -> None:
        """Record that a step of the paper was taken."""
        number = 1 << self.program.steps.index(function.paper_step or "")
        key = self.key(env.local[function.params[0][0]] + self.layout.offset("steps"), 63)
        self.write(env, key, bit_or(env.memory[key], number, 63))

    def leave(self, env: Env, value: Value, frame: Frame) -> None:
        """Leave the function; runs that returned from it earlier, which `env.alive` may contain, keep their result."""
        if frame.returned is None:
            frame.returned, frame.value = env, value
            return
        test = frame.returned.alive
        if frame.function.returns != t.VOID:
            frame.value = self.choose(test, frame.value, value, frame.function.returns)
        env.local = {}
        frame.returned.local = {}
        frame.returned = self.join(test, frame.returned, env, {})

    # --- statements ----------------------------------------------------------------------------

    def block(self, body: list[t.Stmt], env: Env, frame: Frame) -> bool:
        """Run statements; return whether control continues after them."""
        for s in body:
            kind = s.__class__
            how = self._how.get(kind)
            if how is None:
                how = self._how[kind] = getattr(type(self), f"do_{kind.__name__}", type(self).not_here)
            if how(self, s, env, frame) is False:
                return False
        return True

    def not_here(self, s: t.Stmt, env: Env, frame: Frame) -> None:
        raise Untranslatable(f"the symbolic world has no {type(s).__name__}")

    def do_Assign(self, s: t.Assign, env: Env, frame: Frame) -> None:
        env.local[s.name] = self.expr(s.value, env)

    def do_Store(self, s: t.Store, env: Env, frame: Frame) -> None:
        value = self.expr(s.value, env)
        self.store(self.place(s.place, env), s.place.kind, value, s.place.state, s.site, env)

    def do_Copy(self, s: t.Copy, env: Env, frame: Frame) -> None:
        source = self.expr(s.value, env)
        self.copy(self.place(s.place, env), source, s.place.kind, env)

    def do_SetChange(self, s: t.SetChange, env: Env, frame: Frame) -> None:
        kind = s.place.kind
        assert isinstance(kind, SetOf)
        item = self.expr(s.item, env)
        places = self.place(s.place, env)
        good = and_(n.less_equal(0, item), n.less(item, kind.count))
        self.report(not_(good), s.place.state, s.site, env)
        width = max(kind.count, 1)
        safe = n.choose(good, item, 0)
        one: Bits = shift_left(1, n.raw(safe, 0, width), width) if width > 1 else 1
        for test, at in self.exactly(places):
            key = self.key(at, kind.count)
            old = env.memory[key]
            new = bit_or(old, one, width) if s.add else bit_and(old, bit_not(one, width), width)
            self.write_where(env, and_(test, good), key, new, width)

    def do_Clear(self, s: t.Clear, env: Env, frame: Frame) -> None:
        self.zero(self.place(s.place, env), s.place.kind, env)

    def sequence(self, place: t.Memory, env: Env) -> tuple[Seq, Ref, n.Integer]:
        """Return the sequence that a statement changes: its kind, its possible places, and its length."""
        kind = place.kind
        assert isinstance(kind, Seq)
        places = self.place(place, env)
        return kind, places, self.length(places, kind, env)

    def do_Append(self, s: t.Append, env: Env, frame: Frame) -> None:
        value = self.expr(s.value, env)
        kind, places, count = self.sequence(s.place, env)
        room = n.less(count, kind.capacity)
        self.report(not_(room), s.place.state, s.site, env)
        if room is False:
            return
        good = env if room is True else env.fork(room)
        at = self.element(places, kind, count)
        if kind.element.scalar:
            self.store(at, kind.element, value, s.place.state, s.element_site, good)
        else:
            self.copy(at, value, kind.element, good)
        self.set_length(places, kind, n.add(count, 1), True, good)
        if good is not env:
            self.after(room, good, env)

    def after(self, test: Truth, changed: Env, env: Env) -> None:
        """Take over what a side did, where the test is true."""
        alive, local = env.alive, env.local
        env.become(self.join(test, changed, env, {}))
        env.alive, env.local = alive, local

    def element(self, places: Ref, kind: Seq, index: n.Integer) -> Ref:
        """Return the place of an element whose index is in bounds."""
        lo, hi = n.span(index)
        entries = range(max(lo, 0), min(hi, kind.capacity - 1) + 1)
        ways = [(n.same(index, k), kind.header + k * kind.element.size) for k in entries]
        return self.spread(places, ways)

    def set_length(self, places: Ref, kind: Seq, count: n.Integer, where: Truth, env: Env) -> None:
        width = bits_for(kind.capacity)
        for test, at in self.exactly(places):
            self.write_where(env, and_(test, where), self.key(at, width), n.raw(count, 0, width), width)

    def do_Remove(self, s: t.Remove, env: Env, frame: Frame) -> None:
        """Remove one element: those behind it move up, and the freed place is zero."""
        index = self.expr(s.index, env)
        kind, places, count = self.sequence(s.place, env)
        good = and_(n.less_equal(0, index), n.less(index, count))
        self.report(not_(good), s.place.state, s.site, env)
        if good is False:
            return
        for test, at in self.exactly(places):
            rows = [self.keys(kind.element, at + kind.header + k * kind.element.size) for k in range(kind.capacity)]
            for k, row in enumerate(rows):
                moves = and_(and_(test, good), n.less_equal(index, k))
                for j, (key, width) in enumerate(row):
                    empty: Bits | Truth = 0 if width else False
                    behind = env.memory[rows[k + 1][j][0]] if k + 1 < kind.capacity else empty
                    self.write_where(env, moves, key, behind, width)
        self.set_length(places, kind, n.sub(count, 1), good, env)

    def do_PutWord(self, s: t.PutWord, env: Env, frame: Frame) -> None:
        """Clear a list of steps, which alone is a kernel's array here.

        Emptying it is the only such statement; calls of `emit` are handled by the caller's hooks.
        """
        array, index, value = (self.expr(x, env) for x in (s.array, s.index, s.value))
        if not isinstance(array, list) or index != 0 or value != 0 or env.here is not True:
            raise Untranslatable("the symbolic world has no operations on the kernel's memory")
        array.clear()

    def do_Evaluate(self, s: t.Evaluate, env: Env, frame: Frame) -> None:
        self.expr(s.value, env)

    def do_If(self, s: t.If, env: Env, frame: Frame) -> bool:
        test = self.expr(s.test, env)
        if not isinstance(test, Term):
            return self.block(s.then if test else s.other, env, frame)
        then, other = env.fork(test), env.fork(not_(test))
        entered = then.alive, other.alive
        if entered[0] is False:
            return self.block(s.other, env, frame)
        if entered[1] is False:
            return self.block(s.then, env, frame)
        on, alive, left = [], env.alive, []
        for body, side in ((s.then, then), (s.other, other)):
            before = frame.elsewhere
            on.append(self.block(body, side, frame))
            left.append(frame.elsewhere != before)
        if on == [True, True]:
            whole = (then.alive, other.alive) == entered
            env.become(self.join(test, then, other, frame.kinds, frame.live.after(s)))
            if whole:
                env.alive = alive
        elif any(on):
            stays, ends = (0, 1) if on[0] else (1, 0)
            side = (then, other)[stays]
            whole = side.alive == entered[stays] and not left[ends]  # every run of the other side has returned
            env.become(side)
            if whole:
                env.alive = alive
        return any(on)

    def do_For(self, s: t.For, env: Env, frame: Frame) -> bool:
        start, stop = self.expr(s.start, env), self.expr(s.stop, env)
        loop = Loop(s, frame.live)
        frame.loops.append(loop)
        on = True
        for k in range(n.span(start)[0], n.span(stop)[1]):
            inside = and_(n.less_equal(start, k), n.less(k, stop))
            if inside is False or not on:
                continue
            turn = env if inside is True else env.fork(inside)
            if turn.alive is False:
                continue
            skipped = None if turn is env else env.fork(not_(inside))
            turn.local[s.name] = k
            goes = self.turn(s.body, turn, loop, frame)
            if skipped is not None:
                if goes:
                    whole = turn.alive is and_(env.alive, inside)
                    alive = env.alive
                    env.become(self.join(inside, turn, skipped, frame.kinds, loop.head))
                    if whole:
                        env.alive = alive
                else:
                    env.become(skipped)
                    on = skipped.alive is not False
            else:
                on = goes
        frame.loops.pop()
        return self.close(on, env, loop, frame)

    def do_While(self, s: t.While, env: Env, frame: Frame) -> bool:
        loop = Loop(s, frame.live)
        frame.loops.append(loop)
        on = True
        for _ in range(MOST_TURNS):
            test = self.expr(s.test, env)
            if isinstance(test, Term):
                loop.broken = self.both(loop.broken, env.fork(not_(test)), frame, loop.after)
                env.become(env.fork(test))
                on = env.alive is not False
            elif not test:
                break
            on = on and self.turn(s.body, env, loop, frame)
            if not on:
                break
        else:
            raise Untranslatable(f"a `while` of {frame.function.called} may take more than {MOST_TURNS} turns")
        frame.loops.pop()
        return self.close(on, env, loop, frame)

    def turn(self, body: list[t.Stmt], env: Env, loop: Loop, frame: Frame) -> bool:
        """Run one iteration of a loop; return whether control continues to the next."""
        loop.continued = None
        on = self.block(body, env, frame)
        again: Env | None = loop.continued
        loop.continued = None
        if again is not None:
            env.become(self.both(again, env, frame, loop.head) if on else again)
            return True
        return on

    def close(self, on: bool, env: Env, loop: Loop, frame: Frame) -> bool:
        """Continue after a loop, from its end and from its breaks."""
        if loop.broken is None:
            return on
        env.become(self.both(loop.broken, env, frame, loop.after) if on else loop.broken)
        return True

    def both(self, a: Env | None, c: Env, frame: Frame, live: Collection[str]) -> Env:
        """Merge two runs of one function, never both alive; `live` are the local names that are still read."""
        return c if a is None else self.join(a.alive, a, c, frame.kinds, live)

    def do_Break(self, s: t.Break, env: Env, frame: Frame) -> bool:
        loop = frame.loops[-1]
        loop.broken = self.both(loop.broken, env.parted(), frame, loop.after)
        return False

    def do_Continue(self, s: t.Continue, env: Env, frame: Frame) -> bool:
        loop = frame.loops[-1]
        loop.continued = self.both(loop.continued, env.parted(), frame, loop.head)
        return False

    def do_Return(self, s: t.Return, env: Env, frame: Frame) -> bool:
        value = None if s.value is None else self.expr(s.value, env)
        self.leave(env.parted(), value, frame)
        return False
