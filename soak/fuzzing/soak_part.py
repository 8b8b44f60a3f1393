"""The part ``fuzz`` of the soak: all targets one after another, each with its share of time."""

from __future__ import annotations

import tempfile
import traceback
from pathlib import Path

from soak.fuzzing.all_targets import TARGETS
from soak.fuzzing.attack import Attack
from soak.fuzzing.coverage_guided import search
from soak.part import Allowance, Tried

_GUIDED_SHARE = 0.3
"""Of the time of a target whose code atheris can follow."""


class Fuzz:
    """Gives every reader hostile input; a target's time that is not used is for those after it."""

    about = "hostile input to every reader, configuration, model and request"
    share = 3.0

    def run(self, allowance: Allowance) -> list[Tried]:
        """See :meth:`soak.part.Part.run`."""
        told: list[Tried] = []
        for number, name in enumerate(TARGETS):
            seconds = max(1.0, allowance.left / (len(TARGETS) - number))
            folder = allowance.folder / name
            folder.mkdir()
            try:
                told += _attacked(name, allowance.seed, folder, seconds)
            except Exception:  # of the target itself: the others are tried all the same
                told.append(Tried(name, 1, failures=(traceback.format_exc(),)))
        return told


def _attacked(name: str, seed: int, folder: Path, seconds: float) -> list[Tried]:
    with tempfile.TemporaryDirectory() as work:
        target = TARGETS[name](Path(work))
        guided = seconds * _GUIDED_SHARE if target.coverage_guided else 0.0
        told = [Attack(target, seed, folder).run(seconds - guided)]
    if guided:
        told.append(search(name, folder / "guided", guided, seed))
    return told


PART = Fuzz()
