"""Models as formulas: their transitions, bounded model checking, inductive invariants."""
