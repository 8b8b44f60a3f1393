"""Searching among the pieces of a shortlist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from dragoman.core.errors import ConfigError
from dragoman.models.interface import TranslationModel
from dragoman.saved.shortlist import Shortlist
from dragoman.search import Hypothesis, Scorer, SearchConfig, search
from dragoman.search.degenerate import Bounds
from dragoman.search.shortlisted import Choices, shortlisted
from dragoman.search.whole_characters import ByteSymbols
from dragoman.text.inline_tags import InlineTags


def check_shortlisted(models: Sequence[TranslationModel], inline_tags: InlineTags | None) -> None:
    """Check that a shortlist can restrict the outputs of models.

    Raises:
        ConfigError: it cannot.
    """
    if not models[0].reads_source:
        raise ConfigError(
            "shortlist: a language model reads no source that pieces could be listed for"
        )
    if inline_tags is not None:
        raise ConfigError(
            "shortlist: these models write the inline tags of their source, which a shortlist does "
            "not know; leave it out"
        )


class ShortlistedSearch:
    """Searches a batch among the pieces that its sources allow.

    Args:
        scorer: of all pieces.
        shortlist: of the vocabularies.
        pieces: size of the target vocabulary.
    """

    def __init__(self, scorer: Scorer, shortlist: Shortlist, pieces: int) -> None:
        self._scorer, self._shortlist, self._pieces = scorer, shortlist, pieces

    def search(
        self,
        sources: Sequence[Sequence[int]],
        padded: tuple[Tensor, Tensor],
        config: SearchConfig,
        *,
        prefixes: Sequence[Sequence[int]] | None,
        never: Sequence[int],
        numbers: Sequence[int],
        bounds: Sequence[Bounds] | None,
        characters: ByteSymbols | None = None,
    ) -> list[list[Hypothesis]]:
        """Search as :func:`dragoman.search.search` does; a forced prefix may have any pieces.

        Args:
            sources: ids of each sentence.
            padded: the sources as a tensor, and its mask.
            config: of the search.
            prefixes: as in :func:`dragoman.search.search`.
            never: as in :func:`dragoman.search.search`.
            numbers: as in :func:`dragoman.search.search`.
            bounds: as in :func:`dragoman.search.search`.
            characters: as in :func:`dragoman.search.search`; the search may write all of them.

        Raises:
            ConfigError: ``config`` demands trees, or the scorer cannot be restricted.
        """
        if config.grammar != "any":
            raise ConfigError(
                f"a shortlist does not go with search.grammar {config.grammar}; leave out either"
            )
        allowed = self._shortlist.allowed(sources, self._pieces, prefixes or ())
        if characters is not None:  # any character that is begun can be finished
            allowed[:, characters.ids.cpu().numpy()] = True
        choices = Choices.of(torch.from_numpy(allowed).to(padded[0].device))
        found = search(
            shortlisted(self._scorer, choices),
            *padded,
            config,
            prefixes=None if prefixes is None else [choices.places(one) for one in prefixes],
            never=choices.places(never),
            numbers=numbers,
            bounds=bounds,
            characters=None if characters is None else characters.among(choices.pieces),
        )
        pieces: list[int] = choices.pieces.tolist()
        return [
            [replace(one, ids=[pieces[place] for place in one.ids]) for one in hypotheses]
            for hypotheses in found
        ]
