"""A counterexample made shorter, smaller, or plain."""
