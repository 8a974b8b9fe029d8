"""Every engine held against the reference semantics, by sets of successors of each state where an engine has them."""
