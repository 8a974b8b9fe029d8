"""Which tests may kill the mutants of a file: the cheapest that speak of it. Slow tests only where they are named."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch

# The texts of judging that are compiled.
JUDGING = ("kernel", "handlers", "memory", "numbers", "deliveries", "conclusions", "causality")

# Tests that hold exact counts of states. They kill nearly anything, and say least about what is wrong: they come last,
# so that a mutant killed by one of them is killed by nothing else here.
LAST = ("_counts",)


@dataclass(frozen=True)
class Killers:
    """
    Attributes:
        files: patterns of the files they are for.
        tests: what pytest is given: files, or tests by name.
        plain: whether the file's functions run as they are, so that a test which runs none of a mutant's lines in its
            own process cannot kill it. Texts of the language are compiled too; and where tests share what one of them
            computed, the others run no line of it.
        dearest: tests that take more CPU-seconds are left out, unless named.
        tables: whether they read tables.
        without: tests left out, by a part of their names: they never meet the file.
        late: tests run only of what all others left alive, by a part of their names: they cost much and kill little.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    plain: bool = False
    dearest: float = 1.5
    tables: bool = False
    without: tuple[str, ...] = ()
    late: tuple[str, ...] = ()


PAPER, GOLDEN, PREMISES, EXPLORE, TRACES, REPLAY, SIMULATED, GHOSTS = (
    f"tests/{name}.py"
    for name in (
        "protocols/test_paper",
        "explore/test_golden",
        "invariants/test_premises",
        "explore/test_explore",
        "record/test_traces",
        "replay/test_replay",
        "simulator/test_simulated_traces",
        "protocols/test_history_abstraction",
    )
)
BY_DEFINITION = "tests/judging/test_judge_definitions.py::test_random_tables_are_judged_by_the_definitions"
STUTTERING = "tests/explore/test_stuttering.py"
WALKED = "tests/language/test_symmetry.py::test_random_walks_say_what_does_not_commute"
HUNDREDS = "tests/judging/test_judge.py::test_hundreds_of_histories_in_one_table_are_judged_as_in_memory"
OWN_START = "tests/own/test_over_connections.py::test_a_counterexample_is_replayed_and_read_again"
ERRORS = (
    "tests/own/test_runtime_errors.py::test_of_two_errors_behind_one_state_the_first_is_reported",
    "tests/own/test_runtime_errors.py::test_an_error_in_enabledness_is_reported_first",
)
MANY_ALIKE = "tests/explore/test_explore.py::test_states_that_hundreds_of_renamings_leave_as_they_are_are_counted"
FULL = "tests/judging/test_judge_kernels.py::test_judging_ends_where_there_is_no_room_for_another_answer"
UNLIKE = "tests/explore/test_explore.py::test_symmetry_is_left_out_where_it_is_not_sound"
AT_RANDOM = (
    f"{GHOSTS}::test_ghosts_agree_with_the_complete_history_on_many_histories",
    f"{GHOSTS}::test_strict_causality_of_a_process_that_delivers_in_any_order",
)
STORIES = "tests/replay/test_scenarios.py::test_a_scenario_gives_what_it_says"
OBSERVED = "tests/invariants/test_observed_history.py"
LITERAL = "tests/invariants/test_properties.py::test_invariant_5_literal_breaks_as_the_page_tells"
PAGE = "tests/invariants/test_properties.py::test_counter_history_in_the_ghosts"
LAB = ("[datagrams]", "[ordered]")
RARE = ("[alone]", "[inside]", "[unordered]", "[duplicating]", "[re-elected]", "[cut]", "[lossy]")
UNUSUAL = ("[unordered]", "[inside]", "[duplicating]", "[cut]", "[lossy]")
ZAB = (*RARE, "[two]", "[three]")

KILLERS = (
    Killers(("zabspec/zab.py",), (PAPER, STORIES, LITERAL, GOLDEN), without=LAB, late=RARE),
    Killers(
        ("zabspec/history.py",), (PAPER, STORIES, OBSERVED, LITERAL, GHOSTS, GOLDEN), late=(*RARE, "[datagrams]")
    ),
    Killers(("zabspec/worlds/connections.py",), (PAPER, STORIES, GOLDEN), without=LAB, late=RARE),
    Killers(
        ("zabspec/worlds/actor.py",), (PAPER, STORIES, "tests/worlds/test_datagrams.py", GOLDEN),
        without=(*ZAB, "ordered"), dearest=1.0,
    ),
    Killers(
        ("zabspec/worlds/step_annotations.py",), (PAPER, STORIES, GOLDEN, TRACES),
        without=(*RARE, *LAB, "[three]"), dearest=0.5,
    ),
    Killers(("zabspec/worlds/datagrams.py",), ("tests/worlds/test_datagrams.py", GOLDEN), without=ZAB),
    Killers(("invariants/proofs/impossible.py",), ("tests/invariants/test_possible.py",), plain=True),
    Killers(("invariants/proofs/*.py",), ("tests/invariants/test_clauses.py",), dearest=60.0),
    Killers(
        ("invariants/*.py",), (PREMISES, GHOSTS, *AT_RANDOM, PAGE, LITERAL, GOLDEN),
        late=("[alone]", "[re-elected]", "[ordered]", "many_histories", "in_any_order"),
        without=(*UNUSUAL, "[datagrams]", "[three]", "on_any_history"),
    ),
    Killers(
        ("checker/explore/kernel.py", "checker/explore/compiled.py"),
        (GOLDEN, EXPLORE, "tests/explore/test_limits.py", "tests/explore/test_reaching.py", STUTTERING, *ERRORS,
         MANY_ALIKE),
        late=(*RARE, "[datagrams]"),
    ),
    Killers(
        ("checker/explore/reduce/ample_kernel.py", "checker/explore/reduce/observer_kernel.py",
         "checker/explore/reduce/ample.py", "checker/explore/reduce/observers.py", "checker/explore/reduce/partly.py"),
        ("tests/explore/test_observers.py", "tests/explore/test_reduction.py", "tests/explore/test_ample.py"),
        dearest=8.0,
    ),
    Killers(("checker/explore/stuttering.py",), (STUTTERING,)),
    Killers(
        ("checker/live/kernel.py",),
        ("tests/live/test_live.py", "tests/live/test_components.py", "tests/live/test_fairness.py",
         "tests/live/test_lasso_files.py", "tests/own/test_starts_that_choose.py"),
        dearest=8.0,
    ),
    Killers(("checker/search/kernel.py",), ("tests/search/test_search.py",), dearest=10.0),
    Killers(
        ("checker/tables/distributed/kernel.py",), ("tests/tables/distributed/test_distributed.py",),
        dearest=5.0, tables=True,
    ),
    Killers(("checker/explore/binding.py",), ("tests/explore/test_interface.py",), plain=True),
    Killers(
        ("checker/explore/breadth_first.py",), (EXPLORE, "tests/explore/test_limits.py", GOLDEN), plain=True,
        without=(*UNUSUAL, "[three]"), dearest=8.0,
    ),
    Killers(
        ("zabspec/language/layout/derive.py",),
        (
            "tests/language/test_symmetry.py", "tests/worlds/test_worlds.py", "tests/worlds/test_datagrams.py",
            "tests/language/test_derived.py", STUTTERING, "tests/worlds/test_storage.py",
            "tests/language/test_structs.py", GOLDEN,
        ),
        late=RARE,
        without=(
            "variant", "explorations", "successors", "verdicts", "one_step", "every_property", "overtak", "ghosts",
            "threads", "envelope", "received", "handler", "a_world", "too_many", "told_apart", "some_of", "quick",
            "n4", "n5", "n1-", "312-ordered", "n3-lossy", "n3-unordered",
        ),
    ),
    Killers(
        ("traces/record/verification.py",), ("tests/record/test_verification.py", TRACES), plain=True,
        without=("no_true_run", "every_place_of_it", "names_the_events", "is_told"),
    ),
    Killers(
        ("traces/replay/replay.py",), ("tests/record/test_verification.py", REPLAY), plain=True,
        without=("whatever_the_words", "every_kind_of_step", "of_the_lab_replays", "is_named"),
    ),
    Killers(
        ("traces/replay/abstraction.py",), (REPLAY, SIMULATED, OWN_START), plain=True, dearest=2.5,
        without=("whatever_the_words", "every_kind_of_step", "is_named"),
    ),
    Killers(
        ("checker/explore/symmetry.py", "zabspec/language/symmetry.py", "zabspec/language/analysis/scalarset.py",
         "zabspec/language/analysis/loops.py", "zabspec/language/analysis/effects.py"),
        ("tests/language/test_scalarset.py", UNLIKE, WALKED), dearest=3.0,
    ),
    Killers(
        tuple(f"traces/judging/{name}.py" for name in JUDGING),
        ("tests/judging/test_judge.py", "tests/judging/test_judge_open.py", BY_DEFINITION, HUNDREDS, FULL),
        tables=True, dearest=0.6, late=("thousands",),
    ),
    Killers(
        ("traces/judging/observed.py",),
        ("tests/judging/test_judge_definitions.py", "tests/judging/test_judge.py",
         "tests/judging/test_judge_premises.py", SIMULATED, "tests/simulator/test_realise.py",
         "tests/judging/test_judged.py"), tables=True, plain=True, dearest=3.0,
    ),
    Killers(
        ("traces/judging/simulated.py",),
        (SIMULATED, "tests/simulator/test_realise.py", "tests/judging/test_judged.py"), tables=True, plain=True,
        dearest=3.0,
    ),
    Killers(
        ("traces/judging/sentence.py",),
        ("tests/judging/test_judge.py", "tests/judging/test_judge_premises.py", "tests/judging/test_judge_open.py"),
        tables=True, plain=True,
    ),
    Killers(
        ("traces/judging/definition.py",),
        ("tests/judging/test_judge_definitions.py", "tests/judging/test_judge_premises.py"), tables=True, plain=True,
        dearest=3.0,
    ),
    Killers(
        ("traces/judging/*.py",), ("tests/judging/test_judge.py", "tests/judging/test_judge_open.py", BY_DEFINITION,
         "tests/judging/test_judge_premises.py", "tests/judging/test_batches.py"),
        tables=True, plain=True, dearest=0.9,
    ),
    Killers(
        ("checker/proofs/symbolic/induction.py",),
        (
            "tests/proofs/symbolic/test_few_states.py", "tests/proofs/symbolic/test_induct.py",
            "tests/own/test_own_induction.py",
        ),
        plain=True, dearest=8.0,
        without=("taken_apart", "confirm", "ctrl_c", "symbolic_adds", "bounded", "wrong_variant", "begins", "several"),
    ),
    Killers(
        ("checker/proofs/tla/*.py",), ("tests/proofs/tla/test_tla.py", "tests/proofs/tla/test_same_states.py"),
        dearest=4.0, late=("tlc",),
    ),
)  # fmt: skip


def killers_of(path: str) -> Killers:
    """The first entry for a file.

    Raises:
        KeyError: there is none.
    """
    for killers in KILLERS:
        if any(fnmatch(path, pattern) for pattern in killers.files):
            return killers
    raise KeyError(path)
