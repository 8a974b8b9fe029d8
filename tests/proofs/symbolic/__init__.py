"""Induction and bounded model checking with z3."""
