"""The LLVM back end: a typed program as LLVM assembly.

Locals live in `alloca`s, which the optimiser turns into registers. Integers are i64 throughout;
a field is widened when read and, when written, checked against its range first: outside it the
number of the error site goes to the state's scratch field `error`, and nothing is stored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from zabspec.language import tree as t
from zabspec.language.expressions import NOTED
from zabspec.language.kinds import Bool, Int, Kind, Seq, SetOf
from zabspec.language.llvm_slots import SlotEmitter
from zabspec.language.schema import Layout, Role
from zabspec.language.source import LanguageError

__all__ = ["emit_program"]

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
RARE = ", !prof !0"
METADATA = '!0 = !{!"branch_weights", i32 1, i32 4000}\n!1 = !{}'
PLAIN, INLINED = " nounwind {", " nounwind alwaysinline {"
CALL = re.compile(r"\bcall \w+ @(\w+)\(")
MOST_HERE, WIDE = 1024, 32  # bytes up to which what is copied is so where it stands, not by a call; and at once
SMALL, LARGE = 60, 1000  # lines of assembly: up to which a function is inlined everywhere, and if called in one place
MEMORY_OPS = {
    "load_word": "i64", "store_word": "i64", "load_half": "i32", "store_half": "i32",
    "load_short": "i16", "store_short": "i16",
}  # fmt: skip


def emit_program(program: t.TypedProgram, layout: Layout, exported: set[str], bit_gather: bool = False) -> str:
    """LLVM assembly of every function; those in `exported` can be called from outside.

    Args:
        bit_gather: the processor has instructions that gather and scatter bits (x86 BMI2).

    Raises:
        LanguageError: an exported function may meet an error, and has no state to note it in.
    """
    for name in sorted(exported):
        f = program.functions[name]
        if any(parameter == NOTED for parameter, _ in f.params):
            raise LanguageError(f.file, f.line, f"{name} is called from outside and has no state to note an error in")
    functions = {
        name: _Emitter(function, program, layout, name in exported, bit_gather).run()
        for name, function in program.functions.items()
    }
    for name in worth_inlining(functions) - exported:
        functions[name] = functions[name].replace(PLAIN, INLINED, 1)
    return "\n".join([HEADER, BIT_GATHER if bit_gather else "", *functions.values(), METADATA, ""])


def worth_inlining(functions: Mapping[str, str]) -> set[str]:
    """Of functions, by their text, those that are called in one place, and the small ones. To say so here, once,
    takes a small part of the time in which LLVM finds out, and gives code that is as fast."""
    calls = Counter(name for text in functions.values() for name in CALL.findall(text))
    lines = {name: text.count("\n") for name, text in functions.items()}
    return {name for name in functions if lines[name] <= SMALL or (calls[name] == 1 and lines[name] <= LARGE)}


def llvm_type(kind: t.AnyType) -> str:
    if kind == t.BOOL:
        return "i1"
    if kind == t.VOID:
        return "void"
    if kind in (t.STATE, t.WORDS, t.BYTES) or isinstance(kind, (t.SeqType, t.MessageType, t.StructType)):
        return "ptr"
    return "i64"


class _Emitter(SlotEmitter):
    def __init__(
        self, function: t.Function, program: t.TypedProgram, layout: Layout, exported: bool, bit_gather: bool
    ) -> None:
        self.bit_gather = bit_gather
        self.f = function
        self.program = program
        self.layout = layout
        self.exported = exported
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.counter = 0
        self.loops: list[tuple[str, str]] = []
        self.closed = False

    def new(self, hint: str = "v") -> str:
        self.counter += 1
        return f"%{hint}{self.counter}"

    def emit(self, text: str) -> None:
        if not self.closed:
            self.lines.append("  " + text)

    def value(self, text: str) -> str:
        name = self.new()
        self.emit(f"{name} = {text}")
        return name

    def label(self, name: str) -> None:
        self.jump(name)
        self.lines.append(f"{name[1:]}:")
        self.closed = False

    def jump(self, name: str) -> None:
        if not self.closed:
            self.emit(f"br label {name}")
            self.closed = True

    def branch(self, test: str, then: str, other: str, rare: bool = False) -> None:
        """Go on at `then`, which is `rare` (errors are: what follows them is kept out of the way), or at `other`."""
        self.emit(f"br i1 {test}, label {then}, label {other}{RARE if rare else ''}")
        self.closed = True

    def run(self) -> str:
        f = self.f
        for name, kind in [*f.params, *f.locals.items()]:
            self.entry.append(f"  %l.{name} = alloca {llvm_type(kind)}")
        for name, kind in f.params:
            self.entry.append(f"  store {llvm_type(kind)} %p.{name}, ptr %l.{name}")
        for name, kind in f.locals.items():
            zero = {"ptr": "null", "i1": "false"}.get(llvm_type(kind), "0")
            self.entry.append(f"  store {llvm_type(kind)} {zero}, ptr %l.{name}")
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
        """If `bad`, record the site in the state's error field, unless one is there already."""
        on, after = self.new("bad"), self.new("ok")
        self.branch(bad, on, after, rare=True)
        self.label_only(on)
        self.record_error(state, site)
        self.jump(after)
        self.label_only(after)

    def record_error(self, state: t.Expr, site: int) -> None:
        base = self.expr(state)
        place = self.value(f"getelementptr i8, ptr {base}, i64 {self.layout.offset('error')}")
        old = self.value(f"load i32, ptr {place}, align 1")
        none = self.value(f"icmp eq i32 {old}, 0")
        self.emit(f"store i32 {self.value(f'select i1 {none}, i32 {site}, i32 {old}')}, ptr {place}, align 1")

    def label_only(self, name: str) -> None:
        self.lines.append(f"{name[1:]}:")
        self.closed = False

    def address(self, m: t.Memory) -> str:
        base = self.expr(m.base)
        offset = m.offset
        dynamic: list[str] = []
        for term in m.terms:
            if isinstance(term.index, t.Const) and 0 <= term.index.value < term.bound:
                offset += term.index.value * term.stride
                continue
            index = self.expr(term.index)
            bad = self.value(f"icmp uge i64 {index}, {term.bound}")
            self.report(bad, m.state, term.site)
            safe = self.value(f"select i1 {bad}, i64 0, i64 {index}")
            dynamic.append(self.value(f"mul i64 {safe}, {term.stride}"))
        place = self.value(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base
        for d in dynamic:
            place = self.value(f"getelementptr i8, ptr {place}, i64 {d}")
        return place

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
            moved = self.value(f"sub i64 {value}, {kind.lo}") if kind.lo else value
            bad = self.value(f"icmp ugt i64 {moved}, {kind.hi - kind.lo}")
            on, good, after = self.new("bad"), self.new("good"), self.new("after")
            self.branch(bad, on, good, rare=True)
            self.label_only(on)
            self.record_error(state, site)
            self.jump(after)
            self.label_only(good)
            self.narrow_store(place, bits, moved)
            self.jump(after)
            self.label_only(after)
            return
        self.narrow_store(place, bits, value)

    def narrow_store(self, place: str, bits: int, value: str) -> None:
        narrow = self.value(f"trunc i64 {value} to i{bits}") if bits < 64 else value
        self.emit(f"store i{bits} {narrow}, ptr {place}, align 1")

    def copy(self, to: str, source: str, size: int) -> None:
        self.emit(f"call void @llvm.memmove.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")

    def copy_apart(self, to: str, source: str, size: str) -> None:
        """Copy bytes between places that do not overlap; where their number is known and not large, by wide moves."""
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
                return self.value(f"load {llvm_type(e.type)}, ptr %l.{e.name}")
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
                return self.value(f"add i64 {low}, {e.lo}") if e.lo else low
            case t.MakeRecord():
                return self.make_record(e)
            case t.MakeMessage():
                return self.make_message(e)
            case t.SetHas():
                mask, item = self.expr(e.value), self.expr(e.item)
                assert isinstance(e.value.type, t.SetType)
                inside = self.value(f"icmp ult i64 {item}, {e.value.type.kind.count}")
                safe = self.value(f"select i1 {inside}, i64 {item}, i64 63")
                bit = self.value(f"and i64 {self.value(f'lshr i64 {mask}, {safe}')}, 1")
                return self.value(f"and i1 {inside}, {self.value(f'icmp ne i64 {bit}, 0')}")
            case t.SetSize():
                return self.value(f"call i64 @llvm.ctpop.i64(i64 {self.expr(e.value)})")
            case t.SeqLength():
                assert isinstance(e.seq.type, t.SeqType)
                return self.length(self.expr(e.seq), e.seq.type.kind)
            case t.MessageKind():
                raw = self.value(f"load i8, ptr {self.expr(e.message)}, align 1")
                return self.value(f"zext i8 {raw} to i64")
            case t.SameSeq():
                return self.same(e)
        raise AssertionError(type(e).__name__)  # pragma: no cover - the tree has no other

    def binary(self, e: t.Binary) -> str:
        left, right = self.expr(e.left), self.expr(e.right)
        if e.op in ("//", "%"):
            if e.state is not None:
                zero = self.value(f"icmp eq i64 {right}, 0")
                self.report(zero, e.state, e.site)
                right = self.value(f"select i1 {zero}, i64 1, i64 {right}")
            return self.floor(e.op, left, right)
        if e.op == "*" and e.state is not None:
            pair = self.value(f"call {{i64, i1}} @llvm.smul.with.overflow.i64(i64 {left}, i64 {right})")
            self.report(self.value(f"extractvalue {{i64, i1}} {pair}, 1"), e.state, e.site)
            return self.value(f"extractvalue {{i64, i1}} {pair}, 0")
        if e.op in ("<<", ">>") and e.state is not None:
            return self.checked_shift(e, left, right, e.state)
        return self.value(f"{OPS[e.op]} i64 {left}, {right}")

    def floor(self, op: str, left: str, right: str) -> str:
        """Division as Python has it: the quotient is rounded down, the remainder has the divisor's sign."""
        rest = self.value(f"srem i64 {left}, {right}")
        other_sign = self.value(f"icmp slt i64 {self.value(f'xor i64 {rest}, {right}')}, 0")
        inexact = self.value(f"and i1 {other_sign}, {self.value(f'icmp ne i64 {rest}, 0')}")
        if op == "%":
            return self.value(f"add i64 {rest}, {self.value(f'select i1 {inexact}, i64 {right}, i64 0')}")
        quotient = self.value(f"sdiv i64 {left}, {right}")
        return self.value(f"sub i64 {quotient}, {self.value(f'zext i1 {inexact} to i64')}")

    def checked_shift(self, e: t.Binary, left: str, right: str, state: t.Expr) -> str:
        """A shift by 0..63 that loses no bit to the left."""
        wide = self.value(f"icmp ugt i64 {right}, 63")
        by = self.value(f"select i1 {wide}, i64 0, i64 {right}")
        moved = self.value(f"{OPS[e.op]} i64 {left}, {by}")
        bad = wide
        if e.op == "<<":
            back = self.value(f"icmp ne i64 {self.value(f'ashr i64 {moved}, {by}')}, {left}")
            bad = self.value(f"or i1 {wide}, {back}")
        self.report(bad, state, e.site)
        return moved

    def logic(self, e: t.Logic) -> str:
        out = self.new("l.logic")
        self.entry.append(f"  {out} = alloca i1")
        after = self.new("after")
        for k, part in enumerate(e.parts):
            v = self.expr(part)
            self.emit(f"store i1 {v}, ptr {out}")
            if k + 1 < len(e.parts):
                more = self.new("more")
                if e.op == "and":
                    self.branch(v, more, after)
                else:
                    self.branch(v, after, more)
                self.label_only(more)
        self.label(after)
        return self.value(f"load i1, ptr {out}")

    def choice(self, e: t.Choice) -> str:
        kind = llvm_type(e.type)
        out = self.new("l.choice")
        self.entry.append(f"  {out} = alloca {kind}")
        then, other, after = self.new("then"), self.new("else"), self.new("after")
        self.branch(self.expr(e.test), then, other)
        self.label_only(then)
        self.emit(f"store {kind} {self.expr(e.then)}, ptr {out}")
        self.jump(after)
        self.label_only(other)
        self.emit(f"store {kind} {self.expr(e.other)}, ptr {out}")
        self.jump(after)
        self.label_only(after)
        return self.value(f"load {kind}, ptr {out}")

    def call(self, e: t.Call) -> str:
        target = self.program.functions[e.function]
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
            case "shr":
                return self.value(f"lshr i64 {a[0]}, {a[1]}")
            case "shl":
                return self.value(f"shl i64 {a[0]}, {a[1]}")
            case "wrap_mul":
                return self.value(f"mul i64 {a[0]}, {a[1]}")
            case "wrap_add":
                return self.value(f"add i64 {a[0]}, {a[1]}")
            case "unsigned_rem":
                return self.value(f"urem i64 {a[0]}, {a[1]}")
            case "unsigned_less":
                return self.value(f"icmp ult i64 {a[0]}, {a[1]}")
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
        """Gather (or scatter) the bits under a mask: one instruction, or a shift for each run."""
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
        """Zero every volatile field of a process: all zero bytes are the low end of every range."""
        state, process, site = e.args
        base, p = self.expr(state), self.expr(process)
        bad = self.value(f"icmp uge i64 {p}, {self.layout.schema.nodes}")
        on, good, after = self.new("nobody"), self.new("process"), self.new("after")
        self.branch(bad, on, good, rare=True)
        self.label_only(on)
        assert isinstance(site, t.Const)
        self.record_error(state, site.value)
        self.jump(after)
        self.label_only(good)
        for field in self.layout.schema.fields:
            if field.role is Role.VOLATILE:
                stride, pieces, size = self.layout.of_process(field)
                move = self.value(f"mul i64 {p}, {stride}")
                for offset in pieces:
                    start = self.value(f"getelementptr i8, ptr {base}, i64 {offset}")
                    self.zero(self.value(f"getelementptr i8, ptr {start}, i64 {move}"), size)
        self.jump(after)
        self.label_only(after)
        return ""

    def make_record(self, e: t.MakeRecord) -> str:
        word = "0"
        for name, value, site in e.parts:
            kind = e.record.fields[name]
            v = self.expr(value)
            moved = self.value(f"sub i64 {v}, {kind.lo}") if kind.lo else v
            bad = self.value(f"icmp ugt i64 {moved}, {kind.hi - kind.lo}")
            self.report(bad, e.state, site)
            safe = self.value(f"select i1 {bad}, i64 0, i64 {moved}")
            shifted = self.value(f"shl i64 {safe}, {e.record.shift(name)}")
            word = self.value(f"or i64 {word}, {shifted}")
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
        """Sequences are equal when their bytes are: unused elements are zero."""
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

    def block(self, body: list[t.Stmt]) -> None:
        for s in body:
            if self.closed:
                return
            self.statement(s)

    def statement(self, s: t.Stmt) -> None:
        match s:
            case t.Assign():
                v = self.expr(s.value)
                self.emit(f"store {llvm_type(s.value.type)} {v}, ptr %l.{s.name}")
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
        bad = self.value(f"icmp uge i64 {item}, {kind.count}")
        self.report(bad, s.place.state, s.site)
        safe = self.value(f"select i1 {bad}, i64 0, i64 {item}")
        bit = self.value(f"shl i64 1, {safe}")
        old = self.load(place, kind)
        if s.add:
            changed = self.value(f"or i64 {old}, {bit}")
        else:
            changed = self.value(f"and i64 {old}, {self.value(f'xor i64 {bit}, -1')}")
        new = self.value(f"select i1 {bad}, i64 {old}, i64 {changed}")
        self.narrow_store(place, 8 * kind.size, new)

    def append(self, s: t.Append) -> None:
        kind = s.place.kind
        assert isinstance(kind, Seq)
        v = self.expr(s.value)
        place = self.address(s.place)
        count = self.length(place, kind)
        full = self.value(f"icmp uge i64 {count}, {kind.capacity}")
        on, good, after = self.new("full"), self.new("room"), self.new("after")
        self.branch(full, on, good, rare=True)
        self.label_only(on)
        self.record_error(s.place.state, s.site)
        self.jump(after)
        self.label_only(good)
        element = self.element(place, kind, count)
        if kind.element.scalar:
            self.store(element, kind.element, v, s.place.state, s.element_site)
        else:
            self.copy(element, v, kind.element.size)
        self.narrow_store(place, 8 * kind.header, self.value(f"add i64 {count}, 1"))
        self.jump(after)
        self.label_only(after)

    def element(self, place: str, kind: Seq, index: str) -> str:
        start = self.value(f"getelementptr i8, ptr {place}, i64 {kind.header}")
        move = self.value(f"mul i64 {index}, {kind.element.size}")
        return self.value(f"getelementptr i8, ptr {start}, i64 {move}")

    def remove(self, s: t.Remove) -> None:
        """Take out one element: those behind it move up, and the freed place is zeroed."""
        kind = s.place.kind
        assert isinstance(kind, Seq)
        index = self.expr(s.index)
        place = self.address(s.place)
        count = self.length(place, kind)
        bad = self.value(f"icmp uge i64 {index}, {count}")
        on, good, after = self.new("none"), self.new("some"), self.new("after")
        self.branch(bad, on, good, rare=True)
        self.label_only(on)
        self.record_error(s.place.state, s.site)
        self.jump(after)
        self.label_only(good)
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
        self.jump(done)
        self.label_only(done)
        last = self.value(f"sub i64 {count}, 1")
        self.zero(self.element(place, kind, last), size)
        self.narrow_store(place, 8 * kind.header, last)
        self.jump(after)
        self.label_only(after)

    def if_(self, s: t.If) -> None:
        if isinstance(s.test, t.Const):
            self.block(s.then if s.test.value else s.other)
            return
        then, other, after = self.new("then"), self.new("else"), self.new("after")
        self.branch(self.expr(s.test), then, other if s.other else after)
        self.label_only(then)
        self.block(s.then)
        self.jump(after)
        if s.other:
            self.label_only(other)
            self.block(s.other)
            self.jump(after)
        self.label_only(after)

    def for_(self, s: t.For) -> None:
        start, stop = self.expr(s.start), self.expr(s.stop)
        counter = self.new("l.for")
        self.entry.append(f"  {counter} = alloca i64")
        self.emit(f"store i64 {start}, ptr {counter}")
        head, body, again, after = self.new("head"), self.new("body"), self.new("next"), self.new("after")
        self.label(head)
        now = self.value(f"load i64, ptr {counter}")
        self.branch(self.value(f"icmp slt i64 {now}, {stop}"), body, after)
        self.label_only(body)
        self.emit(f"store i64 {now}, ptr %l.{s.name}")
        self.loops.append((again, after))
        self.block(s.body)
        self.loops.pop()
        self.label(again)
        self.emit(f"store i64 {self.value(f'add i64 {now}, 1')}, ptr {counter}")
        self.jump(head)
        self.label_only(after)

    def while_(self, s: t.While) -> None:
        head, body, after = self.new("head"), self.new("body"), self.new("after")
        self.label(head)
        self.branch(self.expr(s.test), body, after)
        self.label_only(body)
        self.loops.append((head, after))
        self.block(s.body)
        self.loops.pop()
        self.jump(head)
        self.label_only(after)
