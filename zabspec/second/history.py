"""The observed history (section 12)."""

from __future__ import annotations

from typing import Any

from zabspec.second.kinds import Bool, Int, NodeId, Seq, SetOf
from zabspec.second.state import NODE, Field, Role, part


class History:
    """The part of a world that keeps what a run shows: H1 to H8."""

    def history_fields(self) -> list[Field]:
        """Return the ghosts of section 12."""
        size, nodes = self.model.size, NODE
        txns, epochs, n = size.txns, size.epochs, size.nodes
        count, epoch = Int(0, txns).derive(), Int(0, epochs).derive()
        synced = Int(0, txns if self.model.literal else 0).derive()
        rows: list[tuple] = [
            ("abcasts", count),
            ("abcast_txn", size.txn, txns),
            ("abcast_by", NodeId.of(n).derive(), txns),
            ("abcast_attempt", count, txns),
            ("abcast_after", SetOf(txns).derive(), txns),
            ("chosen_epoch", epoch, txns),
            ("missing_epoch", epoch, txns),
            ("accepted", SetOf(n, nodes=True).derive(), epochs + 1, txns),
            ("established", Int(0, 2).derive(), epochs + 1),
            ("delivered", Seq(size.txn, txns).derive(), nodes),
            ("pass_length", count, nodes),
            ("diverged", Bool().derive(), nodes),
            ("synced_length", synced, nodes),
            ("revised", Int(0, 2 if self.model.revises else 0).derive(), nodes),
            ("abcast_in_pass", Bool().derive(), nodes),
        ]
        return [part(name, kind, Role.GHOST, "ghosts", *axes) for name, kind, *axes in rows]

    def do_abcast(self, p: int, epoch: int, counter: int) -> Any:
        """Show that p abcasts a transaction, and return it (H1)."""
        s = self.s
        k = s.abcasts
        t = self.model.size.txn.make(epoch=epoch, counter=counter, value=k + 1)
        same = [j for j in range(k) if s.abcast_txn[j].epoch == epoch]
        own = [j for j in same if s.abcast_by[j] == p]
        if s.abcast_in_pass[p] and own:
            attempt = s.abcast_attempt[own[-1]]
        else:
            attempt = max((s.abcast_attempt[j] for j in same), default=-1) + 1
        s.abcast_attempt[k] = attempt
        established = [e for e in range(s.EPOCHS + 1) if s.established[e] > 0]
        if established:
            s.missing_epoch[k] = established[-1]
        s.abcast_txn[k] = t
        s.abcast_by[k] = p
        for u in s.delivered[p]:
            s.abcast_after[k].add(u.value - 1)
        s.abcast_in_pass[p] = True
        s.abcasts = k + 1
        self.point()
        return t

    def do_abdeliver(self, p: int, t: Any) -> None:
        """Show that p delivers a transaction (H2)."""
        s = self.s
        i, delivered = s.pass_length[p], s.delivered[p]
        if i < len(delivered):
            if delivered[i] != t:
                s.diverged[p] = True
                if t not in delivered:
                    delivered.append(t)
        elif t in delivered:
            s.diverged[p] = True
        else:
            delivered.append(t)
        if i < s.TXNS:
            s.pass_length[p] = i + 1
        self.point()

    def do_end_pass(self, p: int) -> None:
        """Show that p begins to deliver from the start again (H3)."""
        self.s.pass_length[p] = 0
        if self.model.literal:
            self.s.synced_length[p] = 0
        self.do_end_leadership(p)

    def do_end_leadership(self, p: int) -> None:
        """Show that p leads no longer (H4)."""
        self.s.abcast_in_pass[p] = False
        self.point()

    def do_end_synchronization(self, p: int) -> None:
        """Show that p has ended Phase 2 (H5)."""
        if self.model.literal:
            self.s.synced_length[p] = self.s.pass_length[p]
        self.point()

    def do_accept(self, p: int, epoch: int, t: Any) -> None:
        """Show that p accepts a transaction in an epoch (H6)."""
        s = self.s
        self.accepts, self.accept_epoch = self.accepts + 1, epoch
        if t.value != 0 and epoch != 0:
            k = t.value - 1
            if s.chosen_epoch[k] == 0 or epoch < s.chosen_epoch[k]:
                s.accepted[epoch][k].add(p)
                if self.model.size.is_quorum(list(s.accepted[epoch][k])):
                    s.chosen_epoch[k] = epoch
                    for e in range(epoch, s.EPOCHS + 1):
                        s.accepted[e][k].clear()
        self.point()

    def do_establish(self, epoch: int, initial: Any) -> None:
        """Show that a leader is established in an epoch, with its initial history (H7)."""
        s = self.s
        if s.established[epoch] < 2:
            s.established[epoch] += 1
        for k in range(s.abcasts):
            t, had = s.abcast_txn[k], list(initial)
            until = had.index(t) if t in had else 0
            in_place = t in had and all((u.epoch, u.counter) <= (t.epoch, t.counter) for u in had[:until])
            if not in_place and s.missing_epoch[k] < epoch:
                s.missing_epoch[k] = epoch
        self.point()

    def do_revise(self, p: int, history: Any) -> None:
        """Show that p's history has been replaced (H8)."""
        s = self.s
        delivered = s.delivered[p]
        for k in range(s.pass_length[p]):
            s.revised[p] = max(s.revised[p], 1)
            if k >= len(history) or (k < len(delivered) and history[k] != delivered[k]):
                s.revised[p] = 2
        self.point()
