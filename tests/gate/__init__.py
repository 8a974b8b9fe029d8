"""The CI check: `zabcheck check`, its gallery, and the places it reports."""
