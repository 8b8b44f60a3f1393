"""Hostile input: readers are given damaged and malicious files, and must refuse or read them.

- ``all_targets`` lists what is called, with good inputs and the errors that are right.
- ``mutations`` damage good inputs; ``bombs`` are small inputs that ask for much time or memory.
- ``trying`` runs inputs in a child process with bounds; ``outcome`` says what became of each.
- ``coverage_guided`` lets atheris look for inputs that reach more of the code.
- ``soak_part`` is the part of the soak; ``python -m soak.fuzzing`` tries one target or one file.
"""
