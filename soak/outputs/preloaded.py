"""What is imported before commands are forked: all that the package offers to programs."""

from __future__ import annotations

import sacrebleu  # noqa: F401 - slow to import
import torch  # noqa: F401

import dragoman
import dragoman.__main__

for _name in dragoman.__all__:
    getattr(dragoman, _name)
