"""Layers that recognise the tags of a source, such as ``<2de>``.

Ids are known once there is a vocabulary, after the model is built.  The code that builds the model
then calls :func:`tell_tags`, which reaches every such layer, also in composed models.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class SourceTags:
    """The tags in a vocabulary of the source."""

    languages: Collection[int]
    """Ids of the tags that name a target language."""
    begin: int
    """Id of the begin symbol."""
    id_of: Callable[[str], int]
    """The id of any tag; raises ConfigError if the vocabulary lacks it."""


class ReadsTags(nn.Module):
    """A layer that needs the ids of tags; before :meth:`know`, it recognises none."""

    @abstractmethod
    def know(self, tags: SourceTags) -> None:
        """Store the ids that the layer looks for.

        Raises:
            ConfigError: the vocabulary lacks a tag that the configuration names.
        """


def tell_tags(model: nn.Module, tags: SourceTags) -> None:
    """Give every layer of a model the tags of the source.

    Raises:
        ConfigError: the vocabulary lacks a tag that the configuration names.
    """
    for module in model.modules():
        if isinstance(module, ReadsTags):
            module.know(tags)
