"""The place of the target language's tag: the encoder's input, or the decoder's begin symbol.

A tag such as ``<2de>`` is in front of the source either way (Johnson et al. 2017,
arXiv:1611.04558).  With ``language_tags: decoder`` it replaces the begin symbol of the target, and
the begin symbol takes its place in the source.  The decoder's first input then names the language
(Lample et al. 2018, arXiv:1711.00043, section 2.1), and the encoder's input is the same for every
target language.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from dragoman.core.config import Config
from dragoman.models.layers.source_tags import ReadsTags, SourceTags


class LanguageTagsConfig(Config):
    """Which side reads the tag of the target language."""

    language_tags: Literal["encoder", "decoder"] = Field("encoder")
    """Which side reads the tag of the target language in front of a source, such as `<2de>`: the
    encoder, or the decoder in place of its begin symbol, so that what the encoder reads does not
    depend on the target language. `decoder` needs a joint vocabulary."""


class LanguageTags(ReadsTags):
    """Moves the tag of the target language from the source to the begin of the target.

    Before :meth:`know` is called it moves nothing.

    Args:
        pieces: size of the joint vocabulary.
    """

    is_tag: Tensor

    def __init__(self, pieces: int) -> None:
        super().__init__()
        self.register_buffer("is_tag", torch.zeros(pieces, dtype=torch.bool), persistent=False)
        self._begin = -1  # no id

    def know(self, tags: SourceTags) -> None:
        """Set the ids of the tags of all target languages, and that of the begin symbol."""
        self.is_tag.zero_()
        self.is_tag[list(tags.languages)] = True
        self._begin = tags.begin

    def split(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """The encoder's input, and the decoder's first input.

        Args:
            source: ids ``(batch, source)``.

        Returns:
            The source with the begin symbol in place of tags, ``(batch, source)``, and the first
            tag of each sentence, or the begin symbol without a tag, ``(batch,)``.
        """
        found = self.is_tag[source]  # (batch, source)
        first = found.int().argmax(1, keepdim=True)  # (batch, 1): 0 without a tag
        begin = torch.where(found.gather(1, first), source.gather(1, first), self._begin).squeeze(1)
        return source.masked_fill(found, self._begin), begin

    def begun(self, target: Tensor, begin: Tensor) -> Tensor:
        """The target as the decoder reads it.

        Args:
            target: ids ``(rows, target)``, in which the begin symbol is the very first.
            begin: from :meth:`split`, of ``rows / beam`` sentences.
        """
        own = begin.repeat_interleave(len(target) // len(begin)).unsqueeze(1)  # (rows, 1)
        return torch.where(target == self._begin, own, target)


def split_tags(tags: LanguageTags | None, source: Tensor) -> tuple[Tensor, Tensor | None]:
    """The encoder's input for ids ``(batch, source)``, and the decoder's first input.

    Without ``tags`` these are the unchanged source and None, which stands for the begin symbol; see
    :meth:`LanguageTags.split`.
    """
    return (source, None) if tags is None else tags.split(source)
