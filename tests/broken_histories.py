"""Histories that each break the properties named, and no other."""

from __future__ import annotations

from collections.abc import Callable

from tests.histories import (
    Synthetic,
    Txn,
)


def of_nowhere(s: Synthetic) -> None:
    s.deliver(0, Txn(1, 1, 1))


def without_what_others_delivered_before(s: Synthetic) -> None:
    a = s.abcast(0, 1)
    s.deliver(1, a)
    b = s.abcast(1, 2)
    s.choose(2, a, b)
    s.deliver(1, b)
    s.deliver(2, b)


def second_pass_in_another_order(s: Synthetic) -> None:
    a, b = s.abcast(0, 1), s.abcast(0, 1)
    s.choose(1, a, b)
    s.deliver(2, a, b)
    s.end_pass(2)
    s.deliver(2, b, a)


def twice_in_one_pass(s: Synthetic) -> None:
    a = s.abcast(0, 1)
    s.choose(1, a)
    s.deliver(2, a, a)


def each_its_own(s: Synthetic) -> None:
    a = s.abcast(0, 1)
    s.deliver(1, a)
    b = s.abcast(1, 2)
    s.choose(2, a, b)
    s.deliver(2, b)


def second_without_first(s: Synthetic) -> None:
    a, b = s.abcast(0, 1), s.abcast(0, 1)
    s.choose(1, a, b)
    s.deliver(0, b)
    s.deliver(1, b)


def second_before_first(s: Synthetic) -> None:
    a, b = s.abcast(0, 1), s.abcast(0, 1)
    s.choose(1, a, b)
    s.deliver(0, b, a)
    s.deliver(1, b, a)


def later_primary_first(s: Synthetic) -> None:
    a, b = s.abcast(0, 1), s.abcast(1, 2)
    s.choose(2, a, b)
    s.deliver(0, b, a)


def primary_behind(s: Synthetic) -> None:
    a = s.abcast(0, 1)
    s.choose(1, a)
    s.deliver(0, a)
    s.abcast(1, 2)


def rivals_delivered(s: Synthetic) -> None:
    a, b = s.abcast(0, 1), s.abcast(1, 1)
    s.choose(1, a, b)
    s.deliver(2, a, b)


def same_server_twice(s: Synthetic) -> None:
    a = s.abcast(0, 1)
    s.end_pass(0)
    b = s.abcast(0, 1)
    s.choose(1, a, b)
    s.deliver(1, b, a)


def lost_by_the_process_that_leads_again(s: Synthetic) -> None:
    s.abcast(0, 1)
    s.end_pass(0)
    b = s.abcast(0, 2)
    s.choose(2, b)
    s.deliver(1, b)


def rivals(s: Synthetic) -> None:
    s.abcast(0, 1)
    s.abcast(1, 1)


def under_one_zxid(s: Synthetic) -> None:
    s.abcast(0, 1, counter=1)
    s.abcast(0, 1, counter=1)


def established_twice(s: Synthetic) -> None:
    s.establish(3)  # the last epoch there is
    s.establish(3)


def lost_when_chosen(s: Synthetic) -> None:
    s.choose(1, s.abcast(0, 1))
    s.establish(2)


def out_of_order_when_chosen(s: Synthetic) -> None:
    a, b = s.abcast(0, 1), s.abcast(0, 1)
    s.choose(1, a, b)
    s.establish(2, b, a)


def chosen_when_out_of_order(s: Synthetic) -> None:
    a, b = s.abcast(0, 1), s.abcast(0, 1)
    s.establish(2, b, a)
    s.choose(1, a)


def chosen_when_lost(s: Synthetic) -> None:
    a = s.abcast(0, 1)
    s.establish(3)
    s.accept(0, 2, a)
    s.accept(1, 1, a)
    s.accept(1, 2, a)


def never_chosen(s: Synthetic) -> None:
    a = s.abcast(0, 1)
    s.accept(0, 1, a)
    s.accept(1, 2, a)
    s.deliver(0, a)


BREAKS: dict[Callable[[Synthetic], None], str] = {
    of_nowhere: "integrity",
    without_what_others_delivered_before: "total-order po-causal-order dsn-causal-order",
    second_pass_in_another_order: "total-order agreement",
    twice_in_one_pass: "total-order agreement",
    each_its_own: "agreement po-causal-order dsn-causal-order",
    second_without_first: "local-primary-order po-causal-order dsn-causal-order prefix",
    second_before_first: "local-primary-order po-causal-order dsn-causal-order causal-order",
    later_primary_first: "global-primary-order primary-integrity strict-causality causal-order",
    primary_behind: "primary-integrity",
    rivals_delivered: "strict-causality one-primary-an-epoch",
    same_server_twice: "causal-order dsn-causal-order strict-causality one-primary-an-epoch",
    lost_by_the_process_that_leads_again: "dsn-causal-order",
    rivals: "one-primary-an-epoch",
    under_one_zxid: "unique-zxid",
    established_twice: "one-leader-an-epoch",
    lost_when_chosen: "chosen-in-later-histories",
    chosen_when_lost: "chosen-in-later-histories",
    out_of_order_when_chosen: "chosen-in-later-histories",
    chosen_when_out_of_order: "chosen-in-later-histories",
    never_chosen: "delivered-is-chosen",
}
