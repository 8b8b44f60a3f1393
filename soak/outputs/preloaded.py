"""Imports the whole public API, before commands are forked."""

from __future__ import annotations

import sacrebleu  # noqa: F401 - slow to import
import torch  # noqa: F401

import dragoman
import dragoman.__main__

for _name in dragoman.__all__:
    getattr(dragoman, _name)
