"""The file that says which pieces belong to which language."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError, SavedError
from dragoman.saved.language_pieces import foreign_pieces, read_pieces, write_pieces
from dragoman.saved.model import PIECES_FILE
from dragoman.text.vocabularies import EOS, UNK, Vocabularies, Vocabulary
from dragoman.text.vocabularies.piece_frequencies import PieceFrequencies


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_tiny_model(tmp_path / "model")


def target(model: Path) -> Vocabulary:
    return Vocabularies.load(model).target


def frequencies(size: int) -> PieceFrequencies:
    german, english = np.zeros((2, size), np.float32)
    german[5], english[6] = 1, 1
    return PieceFrequencies({"de": german, "en": english})


def test_it_is_read_as_it_was_written(model: Path) -> None:
    known = target(model)
    written = frequencies(len(known))
    write_pieces(model / PIECES_FILE, written, known)
    found = read_pieces(model / PIECES_FILE, known).shares
    assert found.keys() == written.shares.keys()
    assert all(np.array_equal(shares, written.shares[name]) for name, shares in found.items())
    assert foreign_pieces(model, known, "de", 0.1) == (6,)
    assert foreign_pieces(model, known, "en", 0.1) == (5,)


def test_symbols_and_tags_belong_to_no_language(tmp_path: Path) -> None:
    """Only English text has unknown pieces, and sentences with a separator between them."""
    model = save_tiny_model(tmp_path / "model", tags=("<sep>",))
    known = target(model)
    german, english = np.zeros((2, len(known)), np.float32)
    english[[UNK, EOS, known.tag("<sep>"), *known.encode("c")]] = 0.25
    shares = PieceFrequencies({"de": german, "en": english})
    write_pieces(model / PIECES_FILE, shares, known)
    assert foreign_pieces(model, known, "de", 0.1) == tuple(sorted({*known.encode("c")}))


def test_what_it_cannot_say_is_an_error(model: Path, tmp_path: Path) -> None:
    known, path = target(model), model / PIECES_FILE
    with pytest.raises(ConfigError, match=r"no pieces.safetensors\); 'dragoman resume' of the"):
        foreign_pieces(model, known, "de", 0.1)
    write_pieces(path, frequencies(len(known)), known)
    with pytest.raises(ConfigError, match=r"no training text in fr \(languages: de, en\)"):
        foreign_pieces(model, known, "fr", 0.1)
    other = target(save_tiny_model(tmp_path / "other", ["v w x y z", "z y x"] * 9))
    with pytest.raises(SavedError, match=r"another vocabulary .* copy the file of its run"):
        read_pieces(path, other)
    write_pieces(path, frequencies(len(known) - 1), known)
    with pytest.raises(SavedError, match=r"damaged .one share for each piece"):
        read_pieces(path, known)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SavedError, match="truncated or damaged"):
        read_pieces(path, known)
