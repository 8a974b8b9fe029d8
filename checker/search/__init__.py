"""Looking for a violation where exploring everything is out of reach: random walks, swarms of them, best first."""
