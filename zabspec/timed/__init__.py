"""A world with a clock, a network interface and a disk a server: how fast Phase 3 is, and what bounds it."""
