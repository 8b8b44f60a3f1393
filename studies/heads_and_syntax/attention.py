"""Where the words of a sentence look in each head of an encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from dragoman.models.self_attention_recorder import self_attention
from dragoman.saved.saved_config import SavedModel
from dragoman.text.tags import SPACE_SIGN
from dragoman.text.vocabularies import EOS

Floats = npt.NDArray[np.float64]


@torch.no_grad()
def between_words(saved: SavedModel, words: Sequence[str]) -> Floats | None:
    """Where each word looks, ``(layers, heads, words, words)``; rows sum to 1.

    Weights on the pieces of a word are added, and those of its pieces averaged (Clark et al. 2019,
    arXiv:1906.04341).  What goes to the word itself, or to the end of the sentence, is left out.

    Args:
        saved: a model; see :func:`self_attention`.
        words: two or more.

    Returns:
        The weights; None if the model does not read the words as such, or not all of them.

    Raises:
        ConfigError: as for :func:`self_attention`.
    """
    vocabulary = saved.vocabularies.source
    ids = vocabulary.encode(" ".join(words))
    begins = [piece.startswith(SPACE_SIGN) for piece in vocabulary.pieces(ids)]
    limit = saved.config.model.position_limit
    if sum(begins) != len(words) or (limit is not None and len(ids) >= limit):
        return None
    source = torch.tensor([[*ids, EOS]], device=next(saved.model.parameters()).device)
    pieces = self_attention(saved.model, source)  # (layers, heads, pieces, pieces)
    return of_words(pieces[..., :-1, :-1].double().cpu().numpy(), np.cumsum(begins) - 1)


def of_words(weights: Floats, word: npt.NDArray[np.int_]) -> Floats:
    """Weights between pieces to weights between words, without those of a word on itself.

    Args:
        weights: ``(layers, heads, pieces, pieces)``.
        word: of each piece, ``(pieces,)``; each has one.
    """
    belongs = (word[:, None] == np.arange(word.max() + 1)).astype(np.float64)  # (pieces, words)
    found = (belongs / belongs.sum(0)).T @ weights @ belongs
    found[..., np.arange(found.shape[-1]), np.arange(found.shape[-1])] = 0
    # A head that sees only itself and the end looks nowhere else; then every word is as good.
    others = (1 - np.eye(found.shape[-1])) * 1e-12
    found = found + others
    shares: Floats = found / found.sum(-1, keepdims=True)
    return shares
