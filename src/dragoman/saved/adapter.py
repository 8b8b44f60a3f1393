"""Low-rank adapters as small files, which belong to one model and are merged into it at loading.

An adapter holds the factors of :mod:`dragoman.models.layers.low_rank` as safetensors, and the
digest of the weights that they were learned with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from dragoman.core.errors import SavedError
from dragoman.models.layers.low_rank import changed_matrix, is_factor, merged
from dragoman.saved.weights import read_metadata, read_weights, weights_digest, write_tensors

ADAPTER_FILE = "adapter.safetensors"
"""The adapter file of a run with ``training.adapter``."""
_KIND, _OF = "low_rank", "of"


@dataclass(frozen=True)
class Adapter:
    """Factors that change one model."""

    path: Path
    of: str
    """Digest of the model's weights."""
    factors: dict[str, Tensor]
    """Factors by their names in a checkpoint."""

    @property
    def matrices(self) -> set[str]:
        """The names of the weights that the adapter changes."""
        return {changed_matrix(name) for name in self.factors}

    def onto(self, weights: Mapping[str, Tensor], directory: Path) -> dict[str, Tensor]:
        """The weights of the adapted model.

        Raises:
            SavedError: the adapter belongs to another model.
        """
        if weights_digest(directory) != self.of:
            raise SavedError(
                f"{self.path}: an adapter of another model, whose weights have the digest "
                f"{self.of[:12]}; {directory} has {weights_digest(directory)[:12]}; name the model "
                "that it was trained with (training.start_from in the configuration of its run)"
            )
        try:
            return merged({**weights, **self.factors})
        except (KeyError, RuntimeError) as error:
            raise SavedError(
                f"{self.path}: does not fit the layers of {directory} ({error!s:.200}); copy it "
                "again"
            ) from error


def write_adapter(path: Path, weights: Mapping[str, Tensor], of: str) -> None:
    """Write an adapter.

    Only the factors among the weights are written.  ``of`` is the digest of the model's own
    weights.
    """
    factors = {name: tensor for name, tensor in weights.items() if is_factor(name)}
    write_tensors(path, factors, {"adapter": _KIND, _OF: of})


def read_adapter(path: Path) -> Adapter:
    """Read an adapter: its file, or the run that it was trained in.

    Raises:
        SavedError: it is missing or damaged, or the file is something else.
    """
    file = path / ADAPTER_FILE if path.is_dir() else path
    if not file.is_file():
        inside = "" if file == path else f" here ({ADAPTER_FILE} is missing)"
        raise SavedError(
            f"{path}: no adapter{inside}; a finished run with training.adapter has one"
        )
    metadata = read_metadata(file)
    factors = read_weights(file)
    if metadata.get("adapter") != _KIND or not all(map(is_factor, factors)):
        raise SavedError(
            f"{file}: not an adapter but other weights; name the {ADAPTER_FILE} of a run with "
            "training.adapter"
        )
    return Adapter(file, metadata.get(_OF, ""), factors)
