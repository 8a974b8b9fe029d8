"""A second, independent explorer, written from docs/reference/semantics.md alone, and what compares it with ours."""
