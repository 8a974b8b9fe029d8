"""A second, independent explorer of models, written from docs/semantics.md alone, and what compares it with ours."""
