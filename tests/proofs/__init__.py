"""The wing proofs: induction, bounded checks, the abstract protocol, refinement, evidence, TLA+."""
