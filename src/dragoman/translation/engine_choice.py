"""Whether an open system may change to another engine, and if not, why."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec

import torch

from dragoman.core.device import processor_name
from dragoman.core.files import content_digest
from dragoman.saved.adapter import read_adapter
from dragoman.saved.model import model_directory
from dragoman.saved.weights import weights_digest
from dragoman.translation.engines.automatic import AutomaticEngine
from dragoman.translation.engines.engine import Engine
from dragoman.translation.engines.verdicts import Verdicts, converted_directory
from dragoman.translation.opening import OpenSystem

_PACKAGE = "ctranslate2"
LARGEST = 1 << 28
"""Parameters of the largest model that is converted without being asked: the converted model takes
4 bytes of each on the disk, and again in memory."""


def automatic_engine(opened: OpenSystem, own: Engine) -> Engine:
    """An engine that begins with ``own``, and changes to CTranslate2 where that is faster."""
    precision = opened.system.precision
    if (reason := unfit(opened)) is not None:
        return AutomaticEngine(own, precision, reason)
    (path,), adapter = opened.system.models, opened.system.adapter
    directory = model_directory(path)
    what = [weights_digest(directory), "" if adapter is None else _digest(opened)]
    what += [f"{name} {version(name)}" for name in (_PACKAGE, "torch")]
    what += [processor_name(torch.device("cpu")), f"{torch.get_num_threads()} threads"]
    verdicts = Verdicts(converted_directory(directory, adapter), ", ".join(filter(None, what)))

    def open_other() -> Engine:
        from dragoman.translation.engines.faithful import FaithfulCTranslate2

        (model,) = opened.models
        workers = torch.get_num_threads()
        return FaithfulCTranslate2(
            directory, model, opened.vocabularies, workers=workers, adapter=adapter
        )

    return AutomaticEngine(own, precision, None, open_other, verdicts)


def _digest(opened: OpenSystem) -> str:
    assert opened.system.adapter is not None, "the caller has looked"
    return content_digest(read_adapter(opened.system.adapter).path)


def unfit(opened: OpenSystem) -> str | None:
    """The reason why CTranslate2 cannot be chosen for a system; None if it may be.

    What only the model's settings rule out is known when the model is converted.
    """
    return next(_reasons(opened), None)


def _reasons(opened: OpenSystem) -> Iterator[str]:
    system, model = opened.system, opened.models[0]
    yield from system.beyond_ctranslate2()
    if find_spec(_PACKAGE) is None:
        yield "CTranslate2 is not installed"
    if system.workers is not None:
        yield "workers are processes of this engine"
    if system.precision != "float32":
        yield f"the engine ctranslate2 gives other texts in {system.precision}"
    device = next(model.parameters()).device
    if device.type != "cpu":
        yield f"the engine ctranslate2 runs on the cpu here, not on {device}"
    if opened.context is not None:
        yield "the engine ctranslate2 reads no context"
    if opened.inline_tags is not None:
        yield "the engine ctranslate2 has no learned tags"
    if sum(parameter.numel() for parameter in model.parameters()) > LARGEST:
        yield "the model is too large to be kept twice; --engine ctranslate2 converts it"
