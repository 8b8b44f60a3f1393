"""Layers that read which pieces of a source are tags, such as ``<2de>``.

Ids are known once there is a vocabulary, after the model is built; whoever builds it calls
:func:`tell_tags`, which reaches every such layer, in composed models as well.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class SourceTags:
    """What a vocabulary of the source says of its tags."""

    languages: Collection[int]
    """Ids of the tags that name a target language."""
    begin: int
    """Id of the begin symbol."""
    id_of: Callable[[str], int]
    """The id of any tag; raises ConfigError if the vocabulary lacks it."""


class ReadsTags(nn.Module):
    """A layer that must know the tags; until it does, it finds none."""

    @abstractmethod
    def know(self, tags: SourceTags) -> None:
        """Remember the ids that the layer looks for.

        Raises:
            ConfigError: the vocabulary lacks a tag that the configuration names.
        """


def tell_tags(model: nn.Module, tags: SourceTags) -> None:
    """Let every layer of a model know the tags of the source.

    Raises:
        ConfigError: the vocabulary lacks a tag that the configuration names.
    """
    for module in model.modules():
        if isinstance(module, ReadsTags):
            module.know(tags)
