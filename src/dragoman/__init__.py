"""Dragoman: train, evaluate and serve your own translation model.

import dragoman
translator = dragoman.load("runs/demo")
translator.translate(["three hundred and five euros"], beam=4)

The names in ``__all__`` are the public API; docs/python.md has an example of each.  They are
imported on first use, so that ``import dragoman`` alone takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dragoman.core.version import __version__

if TYPE_CHECKING:
    from dragoman import errors
    from dragoman.api import TrainedRun, evaluate, load, load_classifier, read_recipe, train
    from dragoman.client.asynchronous import AsyncClient
    from dragoman.client.synchronous import Client
    from dragoman.translation.classification import Classifier, Labelled
    from dragoman.translation.domains import DomainRouter
    from dragoman.translation.outputs import Translation
    from dragoman.translation.routing import Router
    from dragoman.translation.translator import Translator

__all__ = [
    "AsyncClient",
    "Classifier",
    "Client",
    "DomainRouter",
    "Labelled",
    "Router",
    "TrainedRun",
    "Translation",
    "Translator",
    "__version__",
    "errors",
    "evaluate",
    "load",
    "load_classifier",
    "read_recipe",
    "train",
]

_HOMES = {
    "AsyncClient": "dragoman.client.asynchronous",
    "Classifier": "dragoman.translation.classification",
    "Client": "dragoman.client.synchronous",
    "DomainRouter": "dragoman.translation.domains",
    "Labelled": "dragoman.translation.classification",
    "Router": "dragoman.translation.routing",
    "TrainedRun": "dragoman.api",
    "Translation": "dragoman.translation.outputs",
    "Translator": "dragoman.translation.translator",
    "evaluate": "dragoman.api",
    "load": "dragoman.api",
    "load_classifier": "dragoman.api",
    "read_recipe": "dragoman.api",
    "train": "dragoman.api",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name == "errors":
        return import_module("dragoman.errors")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value  # so the next access finds it
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
