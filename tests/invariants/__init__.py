"""The properties, their premises, and the clauses of the inductive invariant."""
