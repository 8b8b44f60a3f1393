"""Layers as compiled regions, which fuse what lies between products.

Decision 081 says why training on a CPU is not compiled.  On a GPU it is not decided.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from dragoman.models.interface import TranslationModel


def compile_layers(
    model: TranslationModel,
    *,
    backend: str = "inductor",
    fullgraph: bool = False,
) -> None:
    """Make the separate layers of ``model`` compute by compiled code where gradients are needed.

    Layers of the same kind share their code, whatever the length of sentences.  Search is not
    compiled, since its first steps would take minutes.

    Args:
        model: its layers are changed in place.
        backend: of :func:`torch.compile`.
        fullgraph: raise an error where a layer would be compiled in parts.
    """
    for layer in model.separate_layers():
        layer.forward = _compiled(layer.forward, backend=backend, fullgraph=fullgraph)


def _compiled(forward: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    compiled = torch.compile(forward, dynamic=True, **options)

    def run(*inputs: Any, **named: Any) -> Any:
        return (compiled if torch.is_grad_enabled() else forward)(*inputs, **named)

    return run
