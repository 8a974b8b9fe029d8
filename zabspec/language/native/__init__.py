"""From typed trees to machine code. Start with `llvm_text.py`, then `kernels.py`."""
