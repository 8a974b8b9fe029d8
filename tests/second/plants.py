"""The faults that `planted.py` plants: each is a text that stands in the product, and what stands in its place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plant:
    """A fault.

    Attributes:
        what: it does.
        engines: the engines that the campaign compares.
        file: the file that it stands in.
        old: a text in that file.
        new: the text in its place.
        part: the part of the product that it stands in.
        needs: a regular expression that the source or the request of a protocol matches if the fault can show in it.
        favour: steps or features that protocols are drawn for (`--favour`).
    """

    what: str
    engines: str
    file: str
    old: str
    new: str
    part: str = ""
    needs: str = ""
    favour: str = ""


# Real faults: each gave a wrong answer once, and stands here with its fix taken back. Their author wrote the harness.
BY_AUTHOR = {
    "overtaking": Plant(
        "a receipt that overtakes as many messages as it sends is left out as one that stutters",
        "stuttering",
        "checker/explore/stuttering.py",
        'f"    if after.event != {RECEIVE} or after.event_message.{IN_LINE} != 0 or after.accepts != 0:"',
        'f"    if after.event != {RECEIVE} or after.accepts != 0:"',
        needs='"network": "ordered"',
    ),
    "bag-order": Plant(
        "a property may depend on the order of messages in flight",
        "compiled",
        "zabspec/language/front/frontend.py",
        "check_bags(",
        "(lambda *_: None)(",
        needs='"order": true',
    ),
    "lost-local": Plant(
        "the TLA+ export drops a local name that one round of a loop hands to the next through an if",
        "tlc",
        "checker/proofs/tla/control.py",
        "        states, names = self.changed_states(both), self.live.left(s)\n",
        "        inside = {id(e) for e in walk(s)}\n"
        "        names = [n for n in self.live.left(s) if any(isinstance(e, t.Var) and e.name == n\n"
        "                 and id(e) not in inside for e in walk(self.current.body))]\n"
        "        states = self.changed_states(both)\n",
        needs=r"^(?!.*on_disk).* = [01]\n +for \w+ in range\(",
    ),
    "colours": Plant(
        "processes named in messages and in fields of pairs colour a process",
        "symmetric",
        "zabspec/language/layout/derive.py",
        "marks[at : at + kind.size] = bytes(kind.size)",
        "pass",
        needs="NodeId|Processes",
    ),
    "empty-except": Plant(
        "the TLA+ export writes a Forget without a change",
        "tlc",
        "checker/proofs/tla/statements.py",
        'if changes else "s"  #',
        "#",
        needs=r'^(?!.*(on_disk|volatile)).*(forget\(|"crashes": [1-9])',
    ),
    "choices": Plant(
        "machine code explores only the first alternative of a choice",
        "compiled",
        "checker/explore/kernel.py",
        "choices = max(choices, child.choices)",
        "choices = 1",
        needs=r"choose\(",
    ),
    "checkpoint": Plant(
        "a resumed search has no premises that were reached before",
        "checkpointed",
        "checker/explore/checkpoints/kept.py",
        "r.witnessed = dict(level.witnessed)",
        "r.witnessed = {}",
    ),
}

# Faults planted by somebody who did not write the harness, in the order of the parts of the product.
BY_ANOTHER = {
    "last-choices": Plant(
        "a step has as many alternatives as the last one that was taken found, not as the most",
        "interpreted",
        "checker/explore/interpret.py",
        "choices = max(choices, after.choices)",
        "choices = after.choices",
        "interpreter",
        needs="choose\\(",
    ),
    "members-moving": Plant(
        "a loop through a set goes through the members that it has by then",
        "interpreted",
        "zabspec/language/python/reference.py",
        "return iter(self.kind.members(self.mask))",
        "return (k for k in range(self.kind.count) if self.mask >> k & 1)",
        "interpreter",
        needs="for i\\w* in s\\.",
    ),
    "first-broken": Plant(
        "the first new state of a group of fingerprints violates no property",
        "compiled",
        "checker/explore/kernel.py",
        "note_broken(load_word(source, at + 16), index + 1, info)",
        "note_broken(load_word(source, at + 16), index, info)",
        "compiled kernel",
    ),
    "history-word": Plant(
        "a step that changes the last word of the history alone leaves properties of histories as they were",
        "compiled",
        "checker/explore/compiled.py",
        "for k in range(0, size, 8)]",
        "for k in range(0, size - 8, 8)]",
        "compiled kernel",
        needs='over="history"',
    ),
    "quotient": Plant(
        "machine code rounds a quotient towards zero",
        "compiled",
        "zabspec/language/native/llvm_text.py",
        "return self.value(f\"sub i64 {quotient}, {self.value(f'zext i1 {inexact} to i64')}\")",
        "return quotient",
        "LLVM",
        needs=" // ",
    ),
    "loop-name": Plant(
        "machine code gives a name that has a value before a loop that value after it, not the last round's",
        "compiled",
        "zabspec/language/native/llvm_flow.py",
        "if not own or s.name in live_in(self.f).head(s):  #",
        "if not own:  #",
        "LLVM",
        needs="for j in range\\(",
    ),
    "sequence-names": Plant(
        "a renaming in machine code leaves the last process of a full sequence as it is",
        "symmetric",
        "zabspec/language/layout/derive.py",
        "elif isinstance(kind, Seq) and not isinstance(kind.element, MessageUnion):\n"
        "        for k in range(kind.capacity):",
        "elif isinstance(kind, Seq) and not isinstance(kind.element, MessageUnion):\n"
        "        for k in range(kind.capacity - 1):",
        "symmetry",
        needs="def enters",
    ),
    "order-of-rounds": Plant(
        "a loop over processes counts as symmetric although its rounds read what other rounds add up",
        "symmetric",
        "zabspec/language/analysis/loops.py",
        "elif name in round_.names_read:",
        "elif False:",
        "symmetry",
        needs=r"n\d* = [01]\n +for q\d* in range\(s\.NODES\):\n(?: {8,}.*\n)*? {8,}if n\d* ",
    ),
    "silent-ghosts": Plant(
        "a receipt that only writes a ghost is left out as one that stutters",
        "stuttering",
        "zabspec/language/layout/derive.py",
        "        if f.role is Role.NETWORK:\n            places",
        "        if f.role in (Role.NETWORK, Role.GHOST):\n            places",
        "stuttering receipts",
        needs='"network": "(datagrams|ordered)"',
    ),
    "mail-witness": Plant(
        "stuttering receipts are left out although a premise looks at messages in flight",
        "stuttering",
        "checker/explore/stuttering.py",
        "for name in (of_each.get(p.holds.__name__, p.holds.__name__), p.witness.__name__):",
        "for name in (of_each.get(p.holds.__name__, p.holds.__name__),):",
        "stuttering receipts",
        needs="def claim_of_(shape|round)_wants",
    ),
    "unguarded": Plant(
        "what makes a step possible does not keep it from changing places with others",
        "ample",
        "zabspec/language/analysis/footprints.py",
        "x.label or taking.own_label(x.field)) for x in listed.touches}",
        "x.label or taking.own_label(x.field)) for x in ()}",
        "ample sets",
        needs='"world": "connections"',
    ),
    "lost-sends": Plant(
        "what a leader sends and the loss of the connection that it is sent over may change places",
        "ample",
        "zabspec/worlds/connections.py",
        '    ("to_leader", "disconnect"),  #',
        '    ("send_to_follower", "lose"),\n    ("to_leader", "disconnect"),  #',
        "ample sets",
        needs='"losses": .*"world": "connections"',
    ),
    "visible-ample": Plant(
        "an ample set may consist of steps that properties of states see",
        "ample",
        "checker/explore/reduce/ample_kernel.py",
        "if not visible_changed(parent, child):",
        "if True:",
        "ample sets",
        needs='"world": "connections"',
    ),
    "last-fingerprint": Plant(
        "an owner does not look at the last fingerprint of a run, of 128 bits",
        "distributed",
        "checker/tables/distributed/fingerprints.py",
        "    waiting = np.flatnonzero(places <= last)",
        "    waiting = np.flatnonzero(places < last)",
        "distributed",
    ),
    "step-premises": Plant(
        "a distributed search does not count premises of properties of steps",
        "distributed",
        "checker/tables/distributed/explore.py",
        "if (w[kernel.R_WITNESSES] | w[kernel.R_STEP_WITNESSES]) >> k & 1:",
        "if w[kernel.R_WITNESSES] >> k & 1:",
        "distributed",
    ),
    "product-range": Plant(
        "z3 takes a product to lie between the products of the low ends and of the high ends",
        "symbolic",
        "zabspec/proofs/symbolic_numbers.py",
        "    lo, hi = _corners(x, y, lambda p, q: p * q)\n    return _result",
        "    lo, hi = span(x)[0] * span(y)[0], span(x)[1] * span(y)[1]\n    return _result",
        "z3",
        needs=" \\* ",
    ),
    "division": Plant(
        "z3 rounds a quotient towards zero",
        "symbolic",
        "zabspec/proofs/symbolic_numbers.py",
        "return b.signed_div(b.sub(n, b.signed_mod(n, d, w), w), d, w)",
        "return b.signed_div(n, d, w)",
        "z3",
        needs=" // ",
    ),
    "fifo-arrival": Plant(
        "a message of the simulator may arrive before one that was sent earlier, on a network in order",
        "simulated",
        "zabspec/simulator/datagrams.py",
        "            arrival = max(s.sim_arrives[p][q], arrival)\n",
        "",
        "simulator",
        needs='"network": "fifo".*"world": "datagrams"',
    ),
    "records-by-last": Plant(
        "the TLA+ export compares records by their last field first",
        "tlc",
        "checker/proofs/tla/expressions.py",
        "for f in reversed(list(record.fields)):",
        "for f in record.fields:",
        "TLA+ export",
        needs=r'^(?!.*on_disk).*Record\("\w+", \{"a"[^}]*"b"[^}]*\}, ordered=True',
    ),
    "old-prints": Plant(
        "a resumed search knows the fingerprints of the last level only",
        "checkpointed",
        "checker/explore/checkpoints/kept.py",
        "[self.folder.read(run) for run in self.level.parts[0].runs])",
        "[self.folder.read(run) for run in self.level.parts[0].runs[-1:]])",
        "checkpoint",
    ),
    "resumed-parents": Plant(
        "a resumed search has the predecessors of its levels one level too low",
        "checkpointed",
        "checker/explore/checkpoints/kept.py",
        "for depth in range(self.level.depth + 1):\n                _, level = self.checkpoint.load(depth)",
        "for depth in range(self.level.depth + 1):\n                _, level = self.checkpoint.load(max(depth - 1, 0))",
        "checkpoint",
    ),
    "one-pass": Plant(
        "what a later round of a loop reads is not live behind an if in its body",
        "tlc",
        "zabspec/language/analysis/liveness.py",
        "            if more == head:\n",
        "            if True:\n",
        "front end",
        needs=r"^(?!.*on_disk).*x = y\n",
    ),
    "last-in-bag": Plant(
        "what a loop through messages in flight leaves may depend on their order",
        "compiled",
        "zabspec/language/analysis/bag_order.py",
        "        self.through.append(s)\n",
        "",
        "front end",
        needs='"order": true',
    ),
    "one-way-cut": Plant(
        "a partition loses only the connections whose leader is on the side that is named",
        "interpreted",
        "zabspec/worlds/connections.py",
        "((side >> f) & 1) != ((side >> l) & 1):\n                lose(s, f, l)",
        "((side >> f) & 1) < ((side >> l) & 1):\n                lose(s, f, l)",
        "shared world rule",
        needs='"partitions": [1-9]',
    ),
    "half-closed": Plant(
        "a leader that closes its connections leaves those that their followers have closed half open",
        "interpreted",
        "zabspec/worlds/connections.py",
        "            elif s.link[f][l] == LEADER_OPEN:\n                s.link[f][l] = NONE",
        "            elif s.link[f][l] == LOST:\n                s.link[f][l] = NONE",
        "shared world rule",
        needs='"world": "connections"',
    ),
    "repeated-ahead": Plant(
        "a message of which a copy stays in flight counts as ahead of it those that it overtook",
        "interpreted",
        "zabspec/worlds/datagrams.py",
        "                    s.in_flight[k].ahead = ahead - lost\n                elif",
        "                    s.in_flight[k].ahead = ahead\n                elif",
        "shared world rule",
        needs='"network": "ordered"',
    ),
    "came-back": Plant(
        "what came back after loss of power is not on the disk when power is lost again",
        "interpreted",
        "zabspec/worlds/storage.py",
        "    clear_images(s, p, 1)\n    keep_image(s, p, 0)\n    if not power_is_lost(s):",
        "    clear_images(s, p, 1)\n    if not power_is_lost(s):",
        "shared world rule",
        needs='"power_losses": [1-9]',
    ),
    "deaf-repeats": Plant(
        "a follower that does not read its connection receives repeated messages from it",
        "interpreted",
        "zabspec/worlds/connections.py",
        "if s.duplicates_left > 0 and may_receive(s, f):",
        "if s.duplicates_left > 0:",
        "shared world rule",
        needs='def may_receive.*"network": "duplicating"',
    ),
}

# Faults of what is derived of budgets, planted by who opened the reductions to protocols that declare them.
OF_BUDGETS = {
    "spent-budgets": Plant(
        "steps that spend a budget, and steps that look at what is left of it, may change places",
        "ample",
        "checker/explore/reduce/reduction.py",
        "            if not (x.writes or y.writes) or (labels and labels in commute):",
        '            if not (x.writes or y.writes) or x.field.endswith("_left") or (labels and labels in commute):',
        "ample sets",
        needs="def season_may_change",
        favour="connections fifo: binding",
    ),
    "guarding-budgets": Plant(
        "what is left of a budget is not among what makes a step possible",
        "ample",
        "zabspec/language/analysis/footprints.py",
        "        listed.touches |= {Touch(r.field, tuple(map(called, r.keys)), r.writes, r.label) for r in reads}",
        "        listed.touches |= {\n"
        "            Touch(r.field, tuple(map(called, r.keys)), r.writes, r.label)\n"
        '            for r in reads\n            if not r.field.endswith("_left")\n        }',
        "ample sets",
        needs="def season_may_change",
        favour="connections fifo: binding",
    ),
    "let-by-others": Plant(
        "a process on its own may do nothing but what it may do now, whatever the environment lets it do later",
        "ample",
        "checker/explore/reduce/ample.py",
        "if let and world.own_roles",
        "if False and world.own_roles",
        "ample sets",
        needs="def season_may_change",
        favour="connections fifo: binding",
    ),
    "order-of-sends": Plant(
        "what one leader sends to a follower in two steps may change places",
        "ample",
        "zabspec/worlds/over_connections.py",
        "commute=connections.COMMUTE,",
        "commute=(*connections.COMMUTE, *connections.COMMUTE_APART),",
        "ample sets",
        favour="connections fifo: transactions",
    ),
}

PLANTS = BY_AUTHOR | BY_ANOTHER | OF_BUDGETS
