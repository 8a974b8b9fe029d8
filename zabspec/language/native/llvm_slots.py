"""Emit access to members of structs of arrays in LLVM assembly: at addresses from the struct's header."""

from __future__ import annotations

from abc import ABC, abstractmethod

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.structs import Array, Member, Size, StructMember

LASTS = ", !invariant.load !1"  # sizes and addresses stay, whatever is stored: so they are read once


class SlotEmitter(ABC):
    """The interface of a function's emitter for members of structs."""

    @abstractmethod
    def value(self, text: str) -> str:
        """Emit an instruction; return the name of its result."""

    @abstractmethod
    def emit(self, text: str) -> None:
        """Emit an instruction without a result."""

    @abstractmethod
    def expr(self, e: t.Expr) -> str:
        """Emit an expression; return its value."""

    def member(self, header: str, m: Member) -> str:
        """Return where a member's word lies in the header."""
        return self.value(f"getelementptr i64, ptr {header}, i64 {m.place}")

    def slot_place(self, e: t.Slot) -> tuple[str, int]:
        """Return where a slot's value lies, and in how many bytes.

        A header's sizes and addresses are marked as constant, so that they are read once and not again after each
        store.
        """
        header, m = self.expr(e.struct), e.member
        if not isinstance(m, Array):
            return self.member(header, m), 8
        start = self.value(f"load ptr, ptr {self.member(header, m)}, align 8{LASTS}")
        at = self.expr(e.indices[0])
        for index, axis in zip(e.indices[1:], m.axes[1:], strict=True):
            count = str(axis)
            if isinstance(axis, Size):
                count = self.value(f"load i64, ptr {self.member(header, axis)}, align 8{LASTS}")
            at = self.value(f"add i64 {self.value(f'mul i64 {at}, {count}')}, {self.expr(index)}")
        return self.value(f"getelementptr i{8 * m.width}, ptr {start}, i64 {at}"), m.width

    def slot(self, e: t.Slot) -> str:
        place, width = self.slot_place(e)
        if isinstance(e.member, StructMember):
            return self.value(f"load ptr, ptr {place}, align 8{LASTS}")
        raw = self.value(f"load i{8 * width}, ptr {place}, align {width}{LASTS if isinstance(e.member, Size) else ''}")
        return raw if width == 8 else self.value(f"zext i{8 * width} {raw} to i64")

    def put_slot(self, s: t.PutSlot) -> None:
        v = self.expr(s.value)
        place, width = self.slot_place(s.slot)
        narrow = v if width == 8 else self.value(f"trunc i64 {v} to i{8 * width}")
        self.emit(f"store i{8 * width} {narrow}, ptr {place}, align {width}")
