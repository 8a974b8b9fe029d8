"""Proofs for any number of processes, and the refinement check."""
