"""The language: front end, machine code, z3, layouts and symmetry."""
