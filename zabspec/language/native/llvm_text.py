"""Emit a typed program as LLVM assembly: the LLVM back end.

Integers are i64 throughout; a field is widened when read and, when written, checked against its range first: outside it
the number of the error site goes to the state's scratch field `error`, and nothing is stored. Control flow, and what
need not be checked again, is in `llvm_flow.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from zabspec.language.analysis import tree as t
from zabspec.language.front.expressions import NOTED
from zabspec.language.layout.kinds import Bool, Int, Kind, Seq, SetOf
from zabspec.language.layout.schema import Layout, Role
from zabspec.language.layout.source import LanguageError
from zabspec.language.native.llvm_flow import FlowEmitter, llvm_type

HEADER = """
declare i64 @llvm.ctpop.i64(i64)
declare {i64, i1} @llvm.smul.with.overflow.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
"""
BIT_GATHER = """
declare i64 @llvm.x86.bmi.pext.64(i64, i64)
declare i64 @llvm.x86.bmi.pdep.64(i64, i64)
"""

OPS = {"+": "add", "-": "sub", "*": "mul", "|": "or", "&": "and", "^": "xor", "<<": "shl", ">>": "ashr"}
PREDICATES = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"}
METADATA = '!0 = !{!"branch_weights", i32 1, i32 4000}\n!1 = !{}'
PLAIN, INLINED = " nounwind {", " nounwind alwaysinline {"
# Records an error in a state, unless one is recorded there already. No protocol can use its name.
NOTE = """
define internal void @error.note(ptr %s, i32 %site) #0 {{
  %place = getelementptr i8, ptr %s, i64 {offset}
  %old = load i32, ptr %place, align 1
  %none = icmp eq i32 %old, 0
  %new = select i1 %none, i32 %site, i32 %old
  store i32 %new, ptr %place, align 1
  ret void
}}
"""
MOST_HERE, WIDE = 1024, 32  # bytes up to which a copy is made in line, not by a call; and per instruction
SMALL, LARGE = 30, 1000  # lines of assembly: up to which a function is inlined everywhere, and if called in one place
MEMORY_OPS = {
    "load_word": "i64", "store_word": "i64", "load_half": "i32", "store_half": "i32",
    "load_short": "i16", "store_short": "i16",
}  # fmt: skip


OF_WORDS = {
    "shr": "lshr", "shl": "shl", "wrap_mul": "mul", "wrap_add": "add", "unsigned_rem": "urem",
    "unsigned_less": "icmp ult",
}  # fmt: skip
WRITES = frozenset({"store_word", "store_half", "store_short", "copy_bytes", "zero_bytes"})


def emit_program(program: t.TypedProgram, layout: Layout, exported: set[str], bit_gather: bool = False) -> str:
    """Return LLVM assembly of every function; those in `exported` can be called from outside.

    Args:
        bit_gather: the processor has instructions that gather and scatter bits (x86 BMI2).

    Raises:
        LanguageError: an exported function may meet an error, and has no state to note it in.
    """
    for name in sorted(exported):
        f = program.functions[name]
        if any(parameter == NOTED for parameter, _ in f.params):
            raise LanguageError(f.file, f.line, f"{name} is called from outside and has no state to note an error in")
    functions: dict[str, str] = {}
    calls: Counter[str] = Counter()
    rough: set[str] = set()
    for name, function in program.functions.items():  # whatever is called comes before its callers
        emitter = _Emitter(function, program, layout, name in exported, bit_gather, rough)
        functions[name] = emitter.run()
        if emitter.rough:
            rough.add(name)
            if emitter.relies:
                emitter = _Emitter(function, program, layout, name in exported, bit_gather, rough)
                emitter.forgets = True
                functions[name] = emitter.run()
        calls += emitter.calls
    asked = {name for name in functions if program.functions[name].inlined}
    for name in (asked | worth_inlining(functions, calls)) - exported:
        functions[name] = functions[name].replace(PLAIN, INLINED, 1)
    note = NOTE.format(offset=layout.offset("error"))
    return "\n".join([HEADER, BIT_GATHER if bit_gather else "", note, *functions.values(), METADATA, ""])


def worth_inlining(functions: Mapping[str, str], calls: Mapping[str, int]) -> set[str]:
    """Return the functions worth inlining: those that are called in one place, and the small ones.

    Saying so here, once, takes a small part of the time in which LLVM finds out, and gives code that is as fast.
    """
    lines = {name: text.count("\n") for name, text in functions.items()}
    return {name for name in functions if lines[name] <= SMALL or (calls[name] == 1 and lines[name] <= LARGE)}


class _Emitter(FlowEmitter):
    """Emits one function.

    Attributes:
        rough: it may take back an error that was recorded, as kernels do; the functions that do, if given.
        forgets: therefore a wrong index is reported again each time it is used.
        relies: an index was not checked again.
        calls: how often it calls which function.
    """

    def __init__(
        self,
        function: t.Function,
        program: t.TypedProgram,
        layout: Layout,
        exported: bool,
        bit_gather: bool,
        rough: Collection[str],
    ) -> None:
        super().__init__(function)
        self.rough_ones = rough
        self.rough = "error" in program.reads.get(function.name, ("error",))
        self.forgets = self.relies = False
        self.calls: Counter[str] = Counter()
        self.bit_gather = bit_gather
        self.program = program
        self.layout = layout
        self.exported = exported

    def run(self) -> str:
        f = self.f
        if f.paper_step is not None:
            bit = 1 << self.program.steps.index(f.paper_step)
            place = self.value(f"getelementptr i8, ptr %p.{f.params[0][0]}, i64 {self.layout.offset('steps')}")
            old = self.value(f"load i64, ptr {place}, align 1")
            self.emit(f"store i64 {self.value(f'or i64 {old}, {bit}')}, ptr {place}, align 1")
        self.block(f.body)
        if not self.closed:
            if f.returns == t.VOID:
                self.emit("ret void")
            else:
                self.emit("unreachable")
        params = ", ".join(f"{llvm_type(k)} {'zeroext ' if k == t.BOOL else ''}%p.{n}" for n, k in f.params)
        linkage = "" if self.exported else "internal "
        head = f"define {linkage}{llvm_type(f.returns)} @{f.name}({params}){PLAIN}\nentry:"
        return "\n".join([head, *self.entry, *self.lines, "}"])

    # --- memory --------------------------------------------------------------------------------

    def report(self, bad: str, state: t.Expr, site: int) -> None:
        """Emit code that records the site in the state's error field if `bad`, unless one is there already."""
        on, after = self.new("bad"), self.new("ok")
        self.branch(bad, on, after, rare=True)
        self.label_only(on)
        self.record_error(state, site)
        self.label(after)

    def record_error(self, state: t.Expr, site: int) -> None:
        noted = site | self.program.sites[site - 1].mark if site else 0
        self.emit(f"call void @error.note(ptr {self.expr(state)}, i32 {noted})")

    def within(self, index: str, bound: int, state: t.Expr, site: int) -> str:
        """Return an index that is safe to use: it is below a bound, or an error is recorded and it is zero."""
        if self.below.get(index, bound + 1) <= bound:
            return index
        told = self.names.get(state.name, "") if isinstance(state, t.Var) else ""
        safe = self.checked.get((index, bound, told), "")
        if safe and told and not self.forgets:
            self.relies = True
            return safe
        bad = self.value(f"icmp uge i64 {index}, {bound}")
        self.report(bad, state, site)
        safe = self.value(f"select i1 {bad}, i64 0, i64 {index}")
        self.checked = {**self.checked, (index, bound, told): safe}
        return safe

    def in_range(self, value: str, lo: int, hi: int) -> bool:
        """Return whether a value is known to be in a range."""
        if value.lstrip("-").isdigit():
            return lo <= int(value) <= hi
        return lo <= 0 and self.below.get(value, hi + 2) <= hi + 1

    def address(self, m: t.Memory) -> str:
        base = self.expr(m.base)
        offset = m.offset
        dynamic: list[tuple[str, int]] = []
        for term in m.terms:
            if term.length is not None:
                dynamic.append((self.below_length(term, term.length, m.state), term.stride))
                continue
            if isinstance(term.index, t.Const) and 0 <= term.index.value < term.bound:
                offset += term.index.value * term.stride
                continue
            dynamic.append((self.within(self.expr(term.index), term.bound, m.state, term.site), term.stride))
        place = self.value(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base
        for index, stride in dynamic:
            place = self.entry_at(place, index, stride)
        return place

    def below_length(self, term: t.Term, sequence: t.Expr, state: t.Expr) -> str:
        """Return the index of an element that a sequence has, or zero with an error recorded."""
        assert isinstance(sequence.type, t.SeqType)
        index = self.expr(term.index)
        bad = self.value(f"icmp uge i64 {index}, {self.length(self.expr(sequence), sequence.type.kind)}")
        self.report(bad, state, term.site)
        return self.value(f"select i1 {bad}, i64 0, i64 {index}")

    def entry_at(self, place: str, index: str, size: int) -> str:
        """Return where an entry of some bytes lies after others of its size."""
        return self.value(f"getelementptr [{size} x i8], ptr {place}, i64 {index}")

    def load(self, place: str, kind: Kind) -> str:
        bits = 8 * kind.size
        raw = self.value(f"load i{bits}, ptr {place}, align 1")
        if isinstance(kind, Bool):
            return self.value(f"icmp ne i{bits} {raw}, 0")
        wide = self.value(f"zext i{bits} {raw} to i64") if bits < 64 else raw
        if isinstance(kind, Int) and kind.lo:
            return self.value(f"add i64 {wide}, {kind.lo}")
        return wide

    def store(self, place: str, kind: Kind, value: str, state: t.Expr, site: int) -> None:
        bits = 8 * kind.size
        if isinstance(kind, Bool):
            self.emit(f"store i{bits} {self.value(f'zext i1 {value} to i{bits}')}, ptr {place}, align 1")
            return
        if isinstance(kind, Int):
            moved = self.less(value, kind.lo)
            if self.in_range(value, kind.lo, kind.hi):
                self.narrow_store(place, bits, moved)
                return
            bad = self.value(f"icmp ugt i64 {moved}, {kind.hi - kind.lo}")
            after = self.leave_if(bad, state, site, "bad", "good")
            self.narrow_store(place, bits, moved)
            self.label(after)
            return
        self.narrow_store(place, bits, value)

    def less(self, value: str, low: int) -> str:
        """Return a value less the lowest value of its range."""
        if not low:
            return value
        known = value.lstrip("-").isdigit()
        return str(int(value) - low) if known else self.value(f"sub i64 {value}, {low}")

    def narrow_store(self, place: str, bits: int, value: str) -> None:
        if value.isdigit() and int(value) < 1 << (bits - 1):
            narrow = value
        else:
            narrow = self.value(f"trunc i64 {value} to i{bits}") if bits < 64 else value
        self.emit(f"store i{bits} {narrow}, ptr {place}, align 1")

    def copy(self, to: str, source: str, size: int) -> None:
        self.emit(f"call void @llvm.memmove.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")

    def copy_apart(self, to: str, source: str, size: str) -> None:
        """Copy bytes between places that do not overlap, by wide moves if their number is known and small."""
        whole = int(size) if size.isdigit() and int(size) <= MOST_HERE else 0
        for at in range(0, whole - WIDE + 1, WIDE):
            taken = self.value(f"getelementptr i8, ptr {source}, i64 {at}")
            value = self.value(f"load <{WIDE // 8} x i64>, ptr {taken}, align 1")
            put = self.value(f"getelementptr i8, ptr {to}, i64 {at}")
            self.emit(f"store <{WIDE // 8} x i64> {value}, ptr {put}, align 1")
        done = whole // WIDE * WIDE
        if not whole or whole > done:
            left = whole - done if whole else size
            taken = self.value(f"getelementptr i8, ptr {source}, i64 {done}")
            put = self.value(f"getelementptr i8, ptr {to}, i64 {done}")
            self.emit(f"call void @llvm.memcpy.p0.p0.i64(ptr {put}, ptr {taken}, i64 {left}, i1 false)")

    def zero(self, place: str, size: int | str) -> None:
        self.emit(f"call void @llvm.memset.p0.i64(ptr {place}, i8 0, i64 {size}, i1 false)")

    def length(self, place: str, kind: Seq) -> str:
        bits = 8 * kind.header
        raw = self.value(f"load i{bits}, ptr {place}, align 1")
        return self.value(f"zext i{bits} {raw} to i64") if bits < 64 else raw

    # --- expressions ---------------------------------------------------------------------------

    def expr(self, e: t.Expr) -> str:
        match e:
            case t.Const():
                if e.type == t.BOOL:
                    return "true" if e.value else "false"
                return str(e.value)
            case t.Var():
                return self.variable(e)
            case t.Slot():
                return self.slot(e)
            case t.Load():
                return self.load(self.address(e.place), e.place.kind)
            case t.Memory():
                return self.address(e)
            case t.Binary():
                return self.binary(e)
            case t.Compare():
                left, right = self.expr(e.left), self.expr(e.right)
                return self.value(f"icmp {PREDICATES[e.op]} {llvm_type(e.left.type)} {left}, {right}")
            case t.Not():
                return self.value(f"xor i1 {self.expr(e.value)}, true")
            case t.Logic():
                return self.logic(e)
            case t.Choice():
                return self.choice(e)
            case t.Call():
                return self.call(e)
            case t.Builtin():
                return self.builtin(e)
            case t.RecordField():
                word = self.expr(e.value)
                moved = self.value(f"lshr i64 {word}, {e.shift}") if e.shift else word
                low = self.value(f"and i64 {moved}, {(1 << e.bits) - 1}")
                if e.type == t.BOOL:
                    return self.value(f"trunc i64 {low} to i1")
                return self.value(f"add i64 {low}, {e.lo}") if e.lo else low
            case t.MakeRecord():
                return self.make_record(e)
            case t.MakeMessage():
                return self.make_message(e)
            case t.SetHas():
                mask, item = self.expr(e.value), self.expr(e.item)
                assert isinstance(e.value.type, t.SetType)
                if self.in_range(item, 0, e.value.type.kind.count - 1):
                    return self.value(f"trunc i64 {self.value(f'lshr i64 {mask}, {item}')} to i1")
                inside = self.value(f"icmp ult i64 {item}, {e.value.type.kind.count}")
                safe = self.value(f"select i1 {inside}, i64 {item}, i64 63")
                has = self.value(f"trunc i64 {self.value(f'lshr i64 {mask}, {safe}')} to i1")
                return self.value(f"and i1 {inside}, {has}")
            case t.SetSize():
                return self.value(f"call i64 @llvm.ctpop.i64(i64 {self.expr(e.value)})")
            case t.SetWith():
                mask, item = self.expr(e.value), self.expr(e.item)
                return self.value(f"or i64 {mask}, {self.value(f'shl i64 1, {item}')}")
            case t.IsQuorum():
                return self.is_quorum(self.expr(e.value))
            case t.SeqLength():
                assert isinstance(e.seq.type, t.SeqType)
                return self.length(self.expr(e.seq), e.seq.type.kind)
            case t.MessageKind():
                raw = self.value(f"load i8, ptr {self.expr(e.message)}, align 1")
                return self.value(f"zext i8 {raw} to i64")
            case t.SameSeq():
                return self.same(e)
        raise AssertionError(type(e).__name__)  # pragma: no cover - the tree has no other

    def is_quorum(self, mask: str) -> str:
        """Return whether a set of processes is a quorum: its bit in the table of the system, 64 to a word."""
        system = self.layout.schema.quorums
        assert system is not None
        words = [system.table >> at & (1 << 64) - 1 for at in range(0, 1 << system.nodes, 64)]
        low, high = (str(w - (1 << 64) if w >> 63 else w) for w in (words[0], words[-1]))
        word = low
        if len(words) > 1:
            upper = self.value(f"icmp uge i64 {mask}, 64")
            word = self.value(f"select i1 {upper}, i64 {high}, i64 {low}")
        place = self.value(f"and i64 {mask}, 63")
        return self.value(f"trunc i64 {self.value(f'lshr i64 {word}, {place}')} to i1")

    def binary(self, e: t.Binary) -> str:
        left, right = self.expr(e.left), self.expr(e.right)
        if e.op in ("//", "%"):
            if e.state is not None:
                zero = self.value(f"icmp eq i64 {right}, 0")
                self.report(zero, e.state, e.site)
                right = self.value(f"select i1 {zero}, i64 1, i64 {right}")
            if e.op == "%" and not (isinstance(e.right, t.Const) and e.right.value > 0):
                # the machine has no -2**63 % -1; by 1 there is no rest either. `//` is refused where it may be that
                right = self.value(f"select i1 {self.value(f'icmp eq i64 {right}, -1')}, i64 1, i64 {right}")
            return self.floor(e.op, left, right)
        if e.op == "*" and e.state is not None:
            pair = self.value(f"call {{i64, i1}} @llvm.smul.with.overflow.i64(i64 {left}, i64 {right})")
            self.report(self.value(f"extractvalue {{i64, i1}} {pair}, 1"), e.state, e.site)
            return self.value(f"extractvalue {{i64, i1}} {pair}, 0")
        if e.op in ("<<", ">>") and e.state is not None:
            return self.checked_shift(e, left, right, e.state)
        return self.value(f"{OPS[e.op]} i64 {left}, {right}")

    def floor(self, op: str, left: str, right: str) -> str:
        """Divide as Python does: the quotient is rounded down, the remainder has the divisor's sign."""
        rest = self.value(f"srem i64 {left}, {right}")
        other_sign = self.value(f"icmp slt i64 {self.value(f'xor i64 {rest}, {right}')}, 0")
        inexact = self.value(f"and i1 {other_sign}, {self.value(f'icmp ne i64 {rest}, 0')}")
        if op == "%":
            return self.value(f"add i64 {rest}, {self.value(f'select i1 {inexact}, i64 {right}, i64 0')}")
        quotient = self.value(f"sdiv i64 {left}, {right}")
        return self.value(f"sub i64 {quotient}, {self.value(f'zext i1 {inexact} to i64')}")

    def checked_shift(self, e: t.Binary, left: str, right: str, state: t.Expr) -> str:
        """Return a shift by 0..63 that loses no bit to the left; otherwise an error is recorded."""
        wide = self.value(f"icmp ugt i64 {right}, 63")
        by = self.value(f"select i1 {wide}, i64 0, i64 {right}")
        moved = self.value(f"{OPS[e.op]} i64 {left}, {by}")
        bad = wide
        if e.op == "<<":
            back = self.value(f"icmp ne i64 {self.value(f'ashr i64 {moved}, {by}')}, {left}")
            bad = self.value(f"or i1 {wide}, {back}")
        self.report(bad, state, e.site)
        return moved

    def call(self, e: t.Call) -> str:
        target = self.program.functions[e.function]
        self.calls[e.function] += 1
        self.rough = self.rough or e.function in self.rough_ones
        args = ", ".join(
            f"{llvm_type(k)} {'zeroext ' if k == t.BOOL else ''}{self.expr(a)}"
            for a, (_, k) in zip(e.args, target.params, strict=True)
        )
        text = f"call {llvm_type(target.returns)} @{e.function}({args})"
        if target.returns == t.VOID:
            self.emit(text)
            return ""
        return self.value(text)

    def builtin(self, e: t.Builtin) -> str:
        if e.op == "forget":
            return self.forget(e)
        self.rough = self.rough or e.op in WRITES
        a = [self.expr(x) for x in e.args]
        match e.op:
            case "min" | "max":
                return self.value(f"call i64 @llvm.s{e.op}.i64(i64 {a[0]}, i64 {a[1]})")
            case "get":
                size = 8 if e.args[0].type == t.WORDS else 1
                place = self.value(f"getelementptr i{8 * size}, ptr {a[0]}, i64 {a[1]}")
                raw = self.value(f"load i{8 * size}, ptr {place}, align {size}")
                return raw if size == 8 else self.value(f"zext i8 {raw} to i64")
            case "mulhi":
                left, right = (self.value(f"zext i64 {x} to i128") for x in a)
                high = self.value(f"lshr i128 {self.value(f'mul i128 {left}, {right}')}, 64")
                return self.value(f"trunc i128 {high} to i64")
            case op if op in OF_WORDS:
                return self.value(f"{OF_WORDS[op]} i64 {a[0]}, {a[1]}")
            case "prefetch":
                place = self.value(f"getelementptr i64, ptr {a[0]}, i64 {a[1]}")
                self.emit(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")
                return ""
            case "state_at" | "words_at":
                return self.value(f"getelementptr i8, ptr {a[0]}, i64 {a[1]}")
            case "bytes_at":
                return self.value(f"getelementptr i64, ptr {a[0]}, i64 {a[1]}")
            case "as_bytes":
                return a[0]
            case "copy_bytes":
                self.copy_apart(a[0], a[1], a[2])
                return ""
            case "zero_bytes":
                self.zero(a[0], a[1])
                return ""
            case "extract" | "deposit":
                mask = e.args[1]
                assert isinstance(mask, t.Const), "the mask of extract and deposit is a constant"
                return self.gather(e.op, a[0], mask.value & ((1 << 64) - 1))
            case "count_bits":
                return self.value(f"call i64 @llvm.ctpop.i64(i64 {a[0]})")
        kind = MEMORY_OPS[e.op]
        place = self.value(f"getelementptr i8, ptr {a[0]}, i64 {a[1]}")
        if e.op.startswith("load"):
            raw = self.value(f"load {kind}, ptr {place}, align 1")
            return raw if kind == "i64" else self.value(f"zext {kind} {raw} to i64")
        narrow = a[2] if kind == "i64" else self.value(f"trunc i64 {a[2]} to {kind}")
        self.emit(f"store {kind} {narrow}, ptr {place}, align 1")
        return ""

    def gather(self, op: str, word: str, mask: int) -> str:
        """Gather (or scatter) the bits under a mask: by one instruction, or a shift for each run."""
        if self.bit_gather:
            signed = mask - (1 << 64) if mask >> 63 else mask
            name = "pext" if op == "extract" else "pdep"
            return self.value(f"call i64 @llvm.x86.bmi.{name}.64(i64 {word}, i64 {signed})")
        result, low, at = "0", 0, 0
        while mask >> at:
            if not mask >> at & 1:
                at += 1
                continue
            size = 0
            while mask >> (at + size) & 1:
                size += 1
            source, to = (at, low) if op == "extract" else (low, at)
            run = (1 << size) - 1
            part = self.value(f"lshr i64 {word}, {source}") if source else word
            part = self.value(f"and i64 {part}, {run - (1 << 64) if run >> 63 else run}")
            part = self.value(f"shl i64 {part}, {to}") if to else part
            result = self.value(f"or i64 {result}, {part}")
            low, at = low + size, at + size
        return result

    def forget(self, e: t.Builtin) -> str:
        """Zero every volatile field of a process: all zero bytes are the lowest value of every range."""
        state, process, site = e.args
        base, p = self.expr(state), self.expr(process)
        bad = self.value(f"icmp uge i64 {p}, {self.layout.schema.nodes}")
        assert isinstance(site, t.Const)
        after = self.leave_if(bad, state, site.value, "nobody", "process")
        for field in self.layout.schema.fields:
            if field.role is Role.VOLATILE:
                stride, pieces, size = self.layout.of_process(field)
                move = self.value(f"mul i64 {p}, {stride}")
                for offset in pieces:
                    start = self.value(f"getelementptr i8, ptr {base}, i64 {offset}")
                    self.zero(self.value(f"getelementptr i8, ptr {start}, i64 {move}"), size)
        self.label(after)
        return ""

    def make_record(self, e: t.MakeRecord) -> str:
        word = "0"
        for name, value, site in e.parts:
            kind = e.record.fields[name]
            v, shift = self.expr(value), e.record.shift(name)
            safe = self.value(f"zext i1 {v} to i64") if isinstance(kind, Bool) else self.less(v, kind.lo)
            if isinstance(kind, Int) and not isinstance(kind, Bool) and not self.in_range(v, kind.lo, kind.hi):
                bad = self.value(f"icmp ugt i64 {safe}, {kind.hi - kind.lo}")
                self.report(bad, e.state, site)
                safe = self.value(f"select i1 {bad}, i64 0, i64 {safe}")
            shifted = self.value(f"shl i64 {safe}, {shift}") if shift else safe
            word = self.value(f"or i64 {word}, {shifted}") if word != "0" else shifted
        return word

    def make_message(self, e: t.MakeMessage) -> str:
        assert isinstance(e.type, t.MessageType)
        size = e.type.union.size
        place = self.new("m")
        self.entry.append(f"  {place} = alloca [{size} x i8]")
        values = [self.expr(value) for _, _, value, _ in e.parts]
        self.zero(place, size)
        self.emit(f"store i8 {e.tag}, ptr {place}, align 1")
        for (offset, kind, _, site), v in zip(e.parts, values, strict=True):
            at = self.value(f"getelementptr i8, ptr {place}, i64 {offset}")
            if kind.scalar:
                self.store(at, kind, v, e.state, site)
            else:
                self.copy(at, v, kind.size)
        return place

    def same(self, e: t.SameSeq) -> str:
        """Return whether sequences are equal, which is so when their bytes are: unused elements are zero."""
        assert isinstance(e.left.type, t.SeqType)
        left, right = self.expr(e.left), self.expr(e.right)
        size = e.left.type.kind.size
        result = "true"
        at = 0
        while at < size:
            step = next(w for w in (8, 4, 2, 1) if w <= size - at)
            pair = []
            for side in (left, right):
                place = self.value(f"getelementptr i8, ptr {side}, i64 {at}")
                pair.append(self.value(f"load i{8 * step}, ptr {place}, align 1"))
            equal = self.value(f"icmp eq i{8 * step} {pair[0]}, {pair[1]}")
            result = self.value(f"and i1 {result}, {equal}")
            at += step
        return result

    # --- statements ----------------------------------------------------------------------------

    def statement(self, s: t.Stmt) -> None:
        match s:
            case t.Assign():
                self.assign(s)
            case t.Store():
                v = self.expr(s.value)
                self.store(self.address(s.place), s.place.kind, v, s.place.state, s.site)
            case t.Copy():
                source = self.expr(s.value)
                self.copy(self.address(s.place), source, s.place.kind.size)
            case t.SetChange():
                self.set_change(s)
            case t.Clear():
                self.zero(self.address(s.place), s.place.kind.size)
            case t.Append():
                self.append(s)
            case t.Remove():
                self.remove(s)
            case t.PutWord():
                self.put_word(s)
            case t.PutSlot():
                self.put_slot(s)
            case t.Evaluate():
                self.expr(s.value)
            case t.If():
                self.if_(s)
            case t.For():
                self.for_(s)
            case t.While():
                self.while_(s)
            case t.Break():
                self.jump(self.loops[-1][1])
            case t.Continue():
                self.jump(self.loops[-1][0])
            case t.Return():
                if s.value is None:
                    self.emit("ret void")
                else:
                    self.emit(f"ret {llvm_type(s.value.type)} {self.expr(s.value)}")
                self.closed = True

    def put_word(self, s: t.PutWord) -> None:
        self.rough = True
        array, index, v = self.expr(s.array), self.expr(s.index), self.expr(s.value)
        size = 8 if s.array.type == t.WORDS else 1
        place = self.value(f"getelementptr i{8 * size}, ptr {array}, i64 {index}")
        narrow = v if size == 8 else self.value(f"trunc i64 {v} to i8")
        self.emit(f"store i{8 * size} {narrow}, ptr {place}, align {size}")

    def set_change(self, s: t.SetChange) -> None:
        kind = s.place.kind
        assert isinstance(kind, SetOf)
        item = self.expr(s.item)
        place = self.address(s.place)
        after = ""
        if not self.in_range(item, 0, kind.count - 1):
            bad = self.value(f"icmp uge i64 {item}, {kind.count}")
            after = self.leave_if(bad, s.place.state, s.site, "outside", "member")
        bit, old = self.value(f"shl i64 1, {item}"), self.load(place, kind)
        bit = bit if s.add else self.value(f"xor i64 {bit}, -1")
        new = self.value(f"{'or' if s.add else 'and'} i64 {old}, {bit}")
        self.narrow_store(place, 8 * kind.size, new)
        if after:
            self.label(after)

    def sequence(self, s: t.Append | t.Remove) -> tuple[Seq, str, str]:
        """Return the sequence that a statement changes: its kind, its address, and its length."""
        kind = s.place.kind
        assert isinstance(kind, Seq)
        place = self.address(s.place)
        return kind, place, self.length(place, kind)

    def leave_if(self, bad: str, state: t.Expr, site: int, wrong: str, right: str) -> str:
        """Record an error where a statement cannot be done, and leave it; return the label after it."""
        on, good, after = self.new(wrong), self.new(right), self.new("after")
        self.branch(bad, on, good, rare=True)
        self.label_only(on)
        self.record_error(state, site)
        self.jump(after)
        self.label_only(good)
        return after

    def append(self, s: t.Append) -> None:
        v = self.expr(s.value)
        kind, place, count = self.sequence(s)
        full = self.value(f"icmp uge i64 {count}, {kind.capacity}")
        after = self.leave_if(full, s.place.state, s.site, "full", "room")
        element = self.element(place, kind, count)
        if kind.element.scalar:
            self.store(element, kind.element, v, s.place.state, s.element_site)
        else:
            self.copy(element, v, kind.element.size)
        self.narrow_store(place, 8 * kind.header, self.value(f"add i64 {count}, 1"))
        self.label(after)

    def element(self, place: str, kind: Seq, index: str) -> str:
        start = self.value(f"getelementptr i8, ptr {place}, i64 {kind.header}")
        return self.entry_at(start, index, kind.element.size)

    def remove(self, s: t.Remove) -> None:
        """Remove one element: those behind it move up, and the freed place is zeroed."""
        index = self.expr(s.index)
        kind, place, count = self.sequence(s)
        bad = self.value(f"icmp uge i64 {index}, {count}")
        after = self.leave_if(bad, s.place.state, s.site, "none", "some")
        size = kind.element.size
        # one move of constant size from the element behind, then the last place is zeroed
        hole = self.element(place, kind, index)
        left = self.value(f"sub i64 {count}, {index}")
        moved = self.value(f"mul i64 {self.value(f'sub i64 {left}, 1')}, {size}")
        behind = self.value(f"getelementptr i8, ptr {hole}, i64 {size}")
        whole = (kind.capacity - 1) * size
        fast, slow, done = self.new("front"), self.new("middle"), self.new("moved")
        front = self.value(f"icmp eq i64 {index}, 0")
        self.branch(front, fast, slow)
        self.label_only(fast)
        if whole:
            self.copy(hole, behind, whole)
        self.jump(done)
        self.label_only(slow)
        self.emit(f"call void @llvm.memmove.p0.p0.i64(ptr {hole}, ptr {behind}, i64 {moved}, i1 false)")
        self.label(done)
        last = self.value(f"sub i64 {count}, 1")
        self.zero(self.element(place, kind, last), size)
        self.narrow_store(place, 8 * kind.header, last)
        self.label(after)
