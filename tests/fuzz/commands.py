"""Commands: those that one would type, and what is left of them after some words were changed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from click import Choice, Context, Option
from click.types import FloatParamType, IntParamType

from checker.cli import main
from invariants import PROPERTIES
from invariants.proofs import CLAUSES
from zabspec.proofs.abstract.mutants import MUTANTS
from zabspec.protocols.registry import PROTOCOLS

# The files that commands are given (made by `files.samples`).
SAMPLES = (
    "zab.trace.json", "db19.trace.json", "run.trace.json", "zoo.cfg", "run.parquet", "swept", "zabcheck.toml",
    "run.json", "data",
)  # fmt: skip

TINY = "--nodes 2 --txns 1 --timeouts 0 --crashes 0 --losses 0"
SMALL = "--nodes 2 --txns 1 --timeouts 1 --crashes 0 --losses 0"
# Questions of few configurations, so that each is compiled once; and how often each is asked.
TYPED = {
    f"{TINY} --depth 9": 12,
    f"{TINY} --json": 8,
    f"{TINY} --variant small-quorum --trace t.json": 8,
    f"{TINY} --variant small-quorum --keep-going --junit j.xml --json": 6,
    f"{TINY} --engine interpret --depth 7 --json": 6,
    f"{TINY} --require-witness integrity --property integrity": 6,
    f"{TINY} --require-witness --max-states 50": 6,
    f"{SMALL} --no-symmetry --threads 1 --time-limit 3": 6,
    f"{SMALL} --memory-limit 2G --depth 12 --json": 4,
    "--nodes 3 --depth 5 --max-epoch 3 --channel 4 --no-trace": 4,
    "--network lossy --drops 1 --depth 4 --no-trace": 3,
    "--network duplicating --duplicates 1 --depth 4 --no-trace": 3,
    "--protocol db19 --nodes 2 --txns 1 --timeouts 1 --heartbeats 1 --depth 6 --no-trace": 6,
    f"{TINY} --symbolic 1 --property integrity --depth 3": 1,
    f"{TINY} --engine spark --checkpoint levels --depth 2": 0,
    "simulate": 6,
    "simulate --seed 7 --nodes 5 --rounds 300 --partition 0,1,1,0 --show": 8,
    "simulate --seed 14 --rounds 300 --check --trace t.json --json": 8,
    "simulate --crash 1@300 --recover 1@450 --engine interpret --events run.jsonl --rounds 500": 8,
    "simulate --protocol zab --cut 0-2@400 --heal 0-2@600 --lose 1:0@50 --check": 8,
    "simulate --protocol zab --oracle lab --delay 1:9 --timeout 1@70 --dump d": 6,
    "simulate --variant repaired --network ordered --table t.parquet --rounds 200": 6,
    "replay zab.trace.json": 6,
    "replay db19.trace.json --json": 6,
    "export zab.trace.json --to text": 6,
    "export run.trace.json --to itf --output out": 6,
    "export db19.trace.json --to svg --cone 3": 6,
    "minimise zab.trace.json --search 0.2 --output out.json": 3,
    "realise db19.trace.json --attempts 40 --time-limit 3 --threads 1 --json": 2,
    f"bmc {TINY} --depth 2 --every 1 --time-limit 5": 1,
    "bmc --from zab.trace.json:3 --depth 1 --property integrity --json --no-trace": 1,
    "induct --list": 3,
    f"induct {TINY} --max-epoch 1 --clause promises --k 1 --query-limit 2 --time-limit 4 --processes 1 --json": 1,
    f"induct {SMALL} --confirm --depth 3 --clause integrity": 1,
    "prove --mutant list": 6,
    "prove --query-limit 0.001 --seed 3": 1,
    f"refine {TINY} --depth 3 --json": 1,
    "quorums zoo.cfg": 6,
    "quorums zoo.cfg --json --query-limit 5 --seed 4": 6,
    "judge run.parquet": 8,
    "check": 6,
    "check zabcheck.toml --only tiny --junit j.xml --json": 8,
    "check --github --traces swept --changed-since HEAD": 4,
    "gallery --list --source VI": 3,
    "gallery small-quorum --json": 3,
    "judge run.parquet --property agreement --violations v.jsonl --json --engine plain --threads 1": 8,
    "sweep new --seeds 1:5 --nodes 3,5 --delay 1:3 --faults 0,1 --sample 3": 0,
    f"--live {TINY} --no-trace --json": 3,
    "plan --servers 3 --outstanding 2 --json": 3,
    "audit data --json": 5,
    "audit data --html audit.html --junit a.xml": 2,
    "report run.json --html page.html": 4,
    "reenact zab.trace.json": 2,
    "init made.py": 2,
    "init made --from exercises": 1,
    "variants": 2,
    "properties": 2,
    "--help": 2,
    "--version": 1,
}
# Sweeps and Spark cost seconds as soon as they begin: these are always given a fault that they refuse.
REFUSED = (
    "sweep swept --seeds nine",
    "sweep new --seeds 1:5 --nodes 3,99",
    "sweep new --seeds 5:1",
    "sweep zoo.cfg --seeds 1:5",
    "sweep new --seeds 1:5 --delay 3",
    "sweep new --seeds 1:5 --schedule 'crash'",
    "sweep new --sample 4",
    "sweep new --seeds 1:5 --variant nope --faults 99",
    "judge zoo.cfg --engine spark",
    f"{TINY} --engine spark --threads 2",
    f"{TINY} --engine spark --resume",
    f"{TINY} --engine spark --checkpoint swept --master nowhere:1",
)
NUMBERS = (
    "0", "1", "2", "3", "7", "8", "15", "16", "200", "201", "-1", "-2147483648", "2147483648", "9223372036854775807",
    "9223372036854775808", "18446744073709551616", "1" * 40, "1_0", "+3", "03", "1.5", "1e309", "1e-300", "nan", "inf",
    "-inf", "0x10", "３", "²", " 3", "3 ",
)  # fmt: skip
GARBAGE = (
    "", " ", "-", "--", "@", ":", ",", ",,", "0,1,", "1@", "@1", "1@1@1", "0:0@3", "0-0@3", "1:2", "9:1", "'", '"',
    "%s", "{}", "\\", "a\nb", "\x1b[2J", "\r", "\t", "é", "💥", "\u202e", "\udcff", "x" * 5000, "/", ".", "..",
    "/dev/null", "/dev/full", "/dev/zero", "no/such", "none", "all", "list", "null", "true", *SAMPLES,
)  # fmt: skip
NAMES = (
    *PROTOCOLS, *(p.name for p in PROPERTIES), *(v for p in PROTOCOLS.values() for v in p.variants),
    *(c.name for c in CLAUSES), *MUTANTS, "fifo", "lossy", "unordered", "duplicating", "datagrams", "ordered", "lab",
    "compiled", "interpret", "plain", "text", "json", "itf",
)  # fmt: skip
# What may make a question as large as it likes.
HEAVY = ("--nodes", "--txns", "--depth", "--rounds", "--proposals", "--attempts", "--k", "--time-limit", "--search")


def options() -> Mapping[str, list[Option]]:
    """The options of every subcommand; of the command itself under the empty name."""
    found = {"": [p for p in main.params if isinstance(p, Option)]}
    for name in main.list_commands(Context(main)):
        command = main.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        found[name] = [p for p in command.params if isinstance(p, Option)]
    return found


class Fuzzer:
    """Changes commands."""

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)
        self.options = options()
        self.typed = [line for line, weight in TYPED.items() for _ in range(weight)]

    def command(self) -> list[str]:
        source = self.source
        if source.random() < 0.12:
            return self.split(source.choice(REFUSED))
        words = self.split(source.choice(self.typed))
        for _ in range(source.choice((0, 0, 1, 1, 1, 1, 2, 3))):
            words = self.changed(words)
        return words

    @staticmethod
    def split(line: str) -> list[str]:
        return [word.strip("'") for word in line.split()]

    def changed(self, words: list[str]) -> list[str]:
        source = self.source
        what, at = source.random(), source.randrange(len(words) + 1)
        if what < 0.35:
            return [*words, *self.an_option(words)]
        if what < 0.7 and words:
            at = min(at, len(words) - 1)
            return [*words[:at], self.value(words[at - 1] if at else ""), *words[at + 1 :]]
        if what < 0.8:
            return [*words[:at], self.value(""), *words[at:]]
        if what < 0.9 and words:
            return [*words[:at], *words[at + 1 :]]
        if what < 0.95 and words:
            return [*words, *words[at:]]
        return source.sample(words, len(words))

    def an_option(self, words: list[str]) -> list[str]:
        """An option of the subcommand, or now and then of another."""
        source = self.source
        mine = words[0] if words and words[0] in self.options else ""
        name = mine if source.random() < 0.9 else source.choice(list(self.options))
        options = [o for o in self.options[name] if o.opts[0] not in ("--master", "--checkpoint")] or self.options[""]
        option = source.choice(options)
        if option.is_flag:
            return [option.opts[0]]
        if isinstance(option.type, Choice) and source.random() < 0.7:
            return [option.opts[0], str(source.choice(option.type.choices))]
        if isinstance(option.type, IntParamType | FloatParamType) and source.random() < 0.6:
            return [option.opts[0], source.choice(NUMBERS[:4])]
        return [option.opts[0], self.value(option.opts[0])]

    def value(self, option: str) -> str:
        source, what = self.source, self.source.random()
        if what < 0.45:
            numbers = NUMBERS[:4] if option in HEAVY and source.random() < 0.8 else NUMBERS
            return source.choice(numbers)
        if what < 0.75:
            return source.choice(NAMES)
        return source.choice(GARBAGE)


def commands(count: int, seed: int) -> Iterator[list[str]]:
    """So many commands."""
    fuzzer = Fuzzer(seed)
    for _ in range(count):
        words = fuzzer.command()
        # what begins Spark is refused, or not asked for here
        if "spark" in words and not any(w in " ".join(words) for w in ("--threads", "--resume", "zoo.cfg")):
            words = [w for w in words if w != "spark"]
        yield words
