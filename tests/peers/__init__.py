"""Models of other tools (`benchmarks/peers`), which zabcheck is compared on."""
