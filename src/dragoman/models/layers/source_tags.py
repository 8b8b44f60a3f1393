"""Tags of a source, such as ``<2de>``, and the layers that recognise them.

Ids are known once there is a vocabulary, after the model is built.  The code that builds the model
then calls :func:`tell_tags`, which reaches every such layer, also in composed models.

The tag of the target language is in front of the source (Johnson et al. 2017, arXiv:1611.04558).
With ``language_tags: decoder`` it replaces the begin symbol of the target, and the begin symbol
takes its place in the source.  The decoder's first input then names the language (Lample et al.
2018, arXiv:1711.00043, section 2.1), and the encoder's input is the same for every target language.

With ``language_tags: decoder_second`` it is the decoder's second input, behind the begin symbol,
and the encoder does not see it at all (M2M-100, Fan et al. 2020, arXiv:2010.11125, and NLLB, NLLB
Team 2022, arXiv:2207.04672; mBART-50, Tang et al. 2020, arXiv:2008.00401).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from dragoman.core.config import Config


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
        """Store the ids that the layer looks for."""


def tell_tags(model: nn.Module, tags: SourceTags) -> None:
    """Give every layer of a model the tags of the source.

    Raises:
        ConfigError: the vocabulary lacks a tag that the configuration names.
    """
    for module in model.modules():
        if isinstance(module, ReadsTags):
            module.know(tags)


class LanguageTagsConfig(Config):
    """Which side reads the tag of the target language."""

    language_tags: Literal["encoder", "decoder", "decoder_second"] = Field("encoder")
    """Side that reads the tag of the target language, such as `<2de>`: encoder; decoder, in place
    of its begin symbol, so that the encoder's input does not depend on the target language; or
    decoder_second, after the begin symbol, as in M2M-100, NLLB and mBART-50. The last two need a
    joint vocabulary."""

    @property
    def moves(self) -> bool:
        """Whether the decoder reads the tag."""
        return self.language_tags != "encoder"


class LanguageTags(ReadsTags):
    """Moves the tag of the target language from the source to the target.

    Args:
        pieces: size of the joint vocabulary.
        second: whether the tag follows the begin symbol, or else takes its place.
    """

    is_tag: Tensor

    def __init__(self, pieces: int, *, second: bool = False) -> None:
        super().__init__()
        self.register_buffer("is_tag", torch.zeros(pieces, dtype=torch.bool), persistent=False)
        self.second = second
        self._begin = -1  # no id

    def know(self, tags: SourceTags) -> None:
        """Set the ids of the tags of all target languages, and that of the begin symbol."""
        self.is_tag.zero_()
        self.is_tag[list(tags.languages)] = True
        self._begin = tags.begin

    def split(self, source: Tensor, source_mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What the encoder reads, and the language of the decoder.

        Returns:
            The source with the begin symbol in place of tags and its mask, ``(batch, source)``; if
            the tag is the decoder's second input, only the first tag is taken out, by the mask, and
            another may name the language of the source.  And the first tag of each sentence, or the
            begin symbol without a tag, ``(batch,)``.
        """
        tags = self.is_tag[source]  # (batch, source)
        first = tags.int().argmax(1, keepdim=True)  # (batch, 1): 0 without a tag
        begin = torch.where(tags.gather(1, first), source.gather(1, first), self._begin).squeeze(1)
        if self.second:
            tags = tags & torch.zeros_like(tags).scatter(1, first, value=True)
            source_mask = source_mask & ~tags
        return source.masked_fill(tags, self._begin), source_mask, begin

    def begun(self, target: Tensor, begin: Tensor) -> Tensor:
        """The target as the decoder reads it.

        Args:
            target: ids ``(rows, target)``, in which the begin symbol is the very first.
            begin: from :meth:`split`, of ``rows / beam`` sentences.
        """
        own = begin.repeat_interleave(len(target) // len(begin)).unsqueeze(1)  # (rows, 1)
        return torch.where(target == self._begin, own, target)

    def first_input(self, rows: int) -> Tensor:
        """The begin symbol of each row, ``(rows, 1)``, in front of the tag."""
        return torch.full((rows, 1), self._begin, device=self.is_tag.device)


def language_tags(config: LanguageTagsConfig, pieces: int) -> LanguageTags | None:
    """The layer for a joint vocabulary of ``pieces``; None if the encoder reads the tags."""
    if not config.moves:
        return None
    return LanguageTags(pieces, second=config.language_tags == "decoder_second")


def split_tags(
    tags: LanguageTags | None, source: Tensor, source_mask: Tensor
) -> tuple[Tensor, Tensor, Tensor | None]:
    """What the encoder reads of ids ``(batch, source)``, and the language of the decoder.

    Without ``tags`` these are unchanged, and None, which stands for the begin symbol; see
    :meth:`LanguageTags.split`.
    """
    return (source, source_mask, None) if tags is None else tags.split(source, source_mask)
