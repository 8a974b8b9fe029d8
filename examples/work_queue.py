"""A work queue with leases: a job whose worker is not heard of goes to another, and earlier results are not kept.

    zabcheck --protocol example:work_queue
    zabcheck --protocol example:work_queue --worker 3 --jobs 2
    zabcheck --protocol example:work_queue --live                        every job is done
    zabcheck --protocol example:work_queue --live --variant trusting     a lease does not end with its worker
    zabcheck --protocol example:work_queue --variant unfenced            the store takes every result

Each lease of a job has a number. A worker that is slow goes on all the same, so that two may work at one job.
"""

from __future__ import annotations

from typing import Annotated, NewType

from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, OneOf, Range, Variant, action, any_of, broken, choose, declare,
    environment, environment_step, ghost, observation, only, parameter, processes, progress, receives, safety, send,
    stored,
)  # fmt: skip

Worker = NewType("Worker", Node)
Queue = NewType("Queue", Node)
Store = NewType("Store", Node)

IDLE, ASKING, WORKING, STORING = range(4)

Job = Annotated[int, Range(0, lambda size: size.jobs - 1)]
Number = Annotated[int, Range(0, lambda size: size.expiries + 2 * size.deaths + 1, "--expiries")]


class TAKE(MessageType): ...


class EMPTY(MessageType): ...


class LEASE(MessageType):
    job: Job
    number: Number


class RESULT(MessageType):
    job: Job
    number: Number


class STORED(MessageType):
    job: Job
    number: Number


class DONE(MessageType):
    job: Job
    number: Number


class State(Fields):
    gone: set[Worker] = environment("who has died")
    mode: Each[Worker, Annotated[int, OneOf("IDLE", "ASKING", "WORKING", "STORING")]] = stored("what it does")
    job: Each[Worker, Job] = stored("the job that it has")
    number: Each[Worker, Number] = stored("the number of its lease")
    holder: Each[Queue, Each[Job, Worker]] = stored("who has a job")
    leases: Each[Queue, Each[Job, Number]] = stored("how often it was given away")
    done: Each[Queue, set[Job]] = stored("the jobs that are done")
    latest: Each[Store, Each[Job, Number]] = stored("the number of the result that it has")
    completed: Each[Job, Number] = ghost("under which lease a job was completed")
    effective: Each[Job, Number] = ghost("and whose result is kept")
    JOBS: int = parameter("how many jobs there are", 1)
    WORKER: int


@environment_step(when=lambda s: len(s.gone) + 1 < s.WORKER, budget="deaths", everywhere=True)
def die(s: State) -> None:
    s.gone.add(any_of(s, Worker))


@action(when=lambda s, p: s.mode[p] == IDLE and p not in s.gone)
def take(s: State, p: Worker) -> None:
    s.mode[p] = ASKING
    send(s, p, only(s, Queue), TAKE())


@receives
def on_take(s: State, p: Queue, source: Worker, m: TAKE) -> None:
    given = False
    for j in range(s.JOBS):
        if not given and j not in s.done[p] and s.holder[p][j] == NOBODY:
            given = True
            s.holder[p][j] = source
            s.leases[p][j] += 1
            send(s, p, source, LEASE(job=j, number=s.leases[p][j]))
    if not given:
        send(s, p, source, EMPTY())


@receives
def on_empty(s: State, p: Worker, m: EMPTY) -> None:
    s.mode[p] = IDLE


@receives
def on_lease(s: State, p: Worker, m: LEASE) -> None:
    s.mode[p] = WORKING
    s.job[p] = m.job
    s.number[p] = m.number


@action(when=lambda s, p: s.mode[p] == WORKING and p not in s.gone)
def work(s: State, p: Worker) -> None:
    s.mode[p] = STORING
    send(s, p, only(s, Store), RESULT(job=s.job[p], number=s.number[p]))


def fresh(s: State, p: Store, job: int, number: int) -> bool:
    return number >= s.latest[p][job]


@receives
def on_result(s: State, p: Store, source: Worker, m: RESULT) -> None:
    if fresh(s, p, m.job, m.number):
        s.latest[p][m.job] = m.number
        keeps(s, p, m.job, m.number)
    send(s, p, source, STORED(job=m.job, number=m.number))


@receives
def on_stored(s: State, p: Worker, m: STORED) -> None:
    if p not in s.gone:
        s.mode[p] = IDLE
        send(s, p, only(s, Queue), DONE(job=m.job, number=m.number))


def is_current(s: State, p: Queue, job: int, number: int) -> bool:
    return number == s.leases[p][job]


@receives
def on_done(s: State, p: Queue, m: DONE) -> None:
    if m.job not in s.done[p] and is_current(s, p, m.job, m.number):
        s.done[p].add(m.job)
        completes(s, p, m.job, m.number)


@action(budget="expiries")
def expire(s: State, p: Queue) -> None:
    """A worker is slow."""
    s.holder[p][choose(s, s.JOBS)] = NOBODY


def is_lost(s: State, p: Queue, job: int) -> bool:
    return s.holder[p][job] in s.gone and job not in s.done[p]


@action(when=lambda s, p: any(is_lost(s, p, j) for j in range(s.JOBS)))
def expire_lost(s: State, p: Queue) -> None:
    """A worker has died."""
    for j in range(s.JOBS):
        if is_lost(s, p, j):
            s.holder[p][j] = NOBODY


@observation
def keeps(s: State, p: Store, job: int, number: int) -> None:
    s.effective[job] = number


@observation
def completes(s: State, p: Queue, job: int, number: int) -> None:
    s.completed[job] = number


def second_completes(s: State) -> bool:
    """A job is completed under its second lease."""
    return any(s.completed[j] > 1 for j in range(s.JOBS))


@safety(over="history", witness=second_completes)
def one_effective(s: State) -> bool:
    """The result of a job that is completed is that of the lease under which it was."""
    for j in range(s.JOBS):
        if s.completed[j] > 0 and s.effective[j] != s.completed[j]:
            return broken(f"job {j} was completed under lease {s.completed[j]}, and has the result of {s.effective[j]}")
    return True


@progress
def all_done(s: State, p: Node) -> bool:
    """Every job is done."""
    return any(q == p and len(s.done[q]) < s.JOBS for q in processes(s, Queue))


def take_all(s: State, p: Store, job: int, number: int) -> bool:
    return True


def take_late(s: State, p: Queue, job: int, number: int) -> bool:
    return True


def never(s: State, p: Queue, job: int) -> bool:
    return False


PROTOCOL = declare(
    __name__,
    roles={"worker": 2, "queue": 1, "store": 1},
    budgets={"expiries": 1, "deaths": 1},
    variants=[
        Variant("unfenced", "the store takes every result", {"fresh": take_all}),
        Variant("lenient", "a job is completed under an earlier lease, too", {"is_current": take_late}),
        Variant("trusting", "a lease does not end with its worker", {"is_lost": never}),
    ],
)
