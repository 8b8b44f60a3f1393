"""The part ``fuzz`` of the soak: all targets one after another, each with its share of time."""

from __future__ import annotations

import tempfile
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
        for number, (name, made) in enumerate(TARGETS.items()):
            seconds = max(1.0, allowance.left / (len(TARGETS) - number))
            folder = allowance.folder / name
            folder.mkdir()
            with tempfile.TemporaryDirectory() as work:
                target = made(Path(work))
                guided = seconds * _GUIDED_SHARE if target.coverage_guided else 0.0
                told.append(Attack(target, allowance.seed, folder).run(seconds - guided))
            if guided:
                told.append(search(name, folder / "guided", guided, allowance.seed))
        return told


PART = Fuzz()
