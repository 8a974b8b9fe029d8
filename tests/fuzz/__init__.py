"""Fuzzed commands and changed files, over all subcommands.

    python -m tests.fuzz --commands 2000 --files 2000 --seed 1

Every exit code must be 0 to 3, and true: the same seed gives the same commands and files.
"""
