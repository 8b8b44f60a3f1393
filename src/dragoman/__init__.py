"""Dragoman: train, evaluate and serve your own translation model.

import dragoman
translator = dragoman.load("runs/demo")
translator.translate(["three hundred and five euros"], beam=4)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.translation.translator import Translator

__version__ = "0.1.0"
__all__ = ["__version__", "load"]


def load(*paths: Path | str, **options: Any) -> Translator:
    """Open a model or run directory (several make an ensemble); see ``Translator.load``.

    PyTorch is imported here, not by ``import dragoman``.
    """
    from dragoman.translation.translator import Translator

    return Translator.load(*paths, **options)
