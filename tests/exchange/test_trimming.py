"""A trimmed model computes the same with fewer pieces."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from command_line import call, one_error
from imported_models import MODELS, built, logits
from m2m_models import LINES, mbart50, nllb

import dragoman
from dragoman.core.errors import ConfigError
from dragoman.exchange.importing import import_model, importer_of
from dragoman.exchange.interface import ForeignModel
from dragoman.exchange.trimming import Trimming, trimmed
from dragoman.saved.shortlist import Shortlist, ShortlistOrigin
from dragoman.text.vocabularies import EOS, UNK, Vocabulary
from dragoman.text.vocabularies.piece_links import PieceTable
from dragoman.translation.call_options import SystemOptions

KEPT, UNSEEN = LINES[:1], "a b c; das Wetter am See is gut"
MAKERS = {"nllb": nllb, "mbart50": mbart50}
KINDS = [
    *MAKERS,
    "huggingface_marian/shared",
    "huggingface_marian/separate",
    "sockeye/ssru",
    "joeynmt/subwords",
]


@pytest.fixture(scope="module")
def nllb_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nllb(tmp_path_factory.mktemp("trimming") / "nllb").folder


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=KINDS)
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ForeignModel, ForeignModel, list[str]]:
    """A model, the same trimmed, and the text."""
    folder, lines = MODELS / request.param, KEPT
    if (make := MAKERS.get(request.param)) is not None:
        folder = make(tmp_path_factory.mktemp("made") / "model").folder
    whole = importer_of(folder).read(folder, (None, None))
    if make is None:
        lines = [side.decode(range(8, len(side) // 2)) for side in whole.vocabularies]
    path = write(tmp_path_factory.mktemp("text") / "text", lines)
    return whole, trimmed(whole, Trimming([path])), lines


Pair = tuple[ForeignModel, ForeignModel, list[str]]


def test_text_is_split_as_before(pair: Pair) -> None:
    whole, fewer, lines = pair
    for before, after in zip(whole.vocabularies, fewer.vocabularies, strict=True):
        assert EOS < len(after) < len(before)
        for line in lines:
            pieces = before.pieces(before.encode(line))
            assert after.pieces(after.encode(line)) == pieces
            assert after.decode(after.encode(line)) == before.decode(before.encode(line))
    assert any("pieces, 0 are split into smaller ones" in note for note in fewer.notes)


def test_other_text_is_split_into_smaller_pieces(pair: Pair) -> None:
    whole, fewer, _ = pair
    for before, after in zip(whole.vocabularies, fewer.vocabularies, strict=True):
        pieces = names(after)
        marks = {"", "@@"} if any(piece.endswith("@@") for piece in pieces) else {""}
        left_out = [i for i, piece in enumerate(names(before)) if i > EOS and piece not in pieces]
        for word in before.decode(left_out).split():
            assert after.encode(word)
            if UNK not in after.encode(word):  # which may stand for many characters
                assert len(after.encode(word)) >= len(before.encode(word))
            if {character + mark for character in word for mark in marks} <= set(pieces):
                assert UNK not in after.encode(word)
        assert after.encode(UNSEEN)


def names(vocabulary: Vocabulary) -> list[str]:
    return vocabulary.pieces(range(len(vocabulary)))


def test_logits_of_pieces_that_stay_are_the_same(pair: Pair) -> None:
    whole, fewer, lines = pair
    columns = whole.vocabularies.target.ids(names(fewer.vocabularies.target))
    models = built(whole), built(fewer)
    for line in lines:
        found = [
            logits(model, side.source.encode(line)[:12], side.target.encode(line)[:12])
            for model, side in zip(models, (whole.vocabularies, fewer.vocabularies), strict=True)
        ]
        torch.testing.assert_close(found[1], found[0][:, columns], atol=1e-5, rtol=1e-5)


def test_a_shortlist_keeps_the_pieces_that_stay(tmp_path: Path) -> None:
    folder = MODELS / "huggingface_marian" / "shared"
    whole = importer_of(folder).read(folder, (None, None))
    vocabularies = whole.vocabularies
    size = len(vocabularies.source)
    shortlist = Shortlist(
        table=PieceTable.of_lists([[i, (i + 1) % size] for i in range(size)]),
        always=np.arange(7),
        origin=ShortlistOrigin(
            fingerprints=vocabularies.fingerprints, likeliest=2, frequent=3, text="text", pairs=1
        ),
    )
    text = write(tmp_path / "text", [vocabularies.source.decode(range(8, size // 2))])
    fewer = trimmed(replace(whole, shortlist=shortlist), Trimming([text]))
    assert fewer.shortlist is not None
    assert fewer.shortlist.origin.fingerprints == fewer.vocabularies.fingerprints
    target = fewer.vocabularies.target
    for piece, name in enumerate(names(fewer.vocabularies.source)):
        before = names(vocabularies.target)
        wanted = {before[i] for i in shortlist.table.of(before.index(name))} & set(names(target))
        assert set(target.pieces(fewer.shortlist.table.of(piece))) == wanted
    assert set(target.pieces(fewer.shortlist.always)) == set(before[:7]) & set(names(target))


def test_a_trimmed_model_translates_as_before_where_it_can(
    nllb_folder: Path, tmp_path: Path
) -> None:
    text = write(tmp_path / "text", LINES)
    import_model(nllb_folder, tmp_path / "whole")
    trimming = Trimming([text], ["en", "ko"])
    report = import_model(nllb_folder, tmp_path / "fewer", trimming=trimming)
    (note,) = [note for note in report.notes if note.startswith("Trimmed to the languages en, ko")]
    assert note in (tmp_path / "fewer" / "README.md").read_text(encoding="utf-8")
    outputs = []
    for name in ("whole", "fewer"):
        options: SystemOptions = {"source_language": "en", "target_language": "ko"}
        with dragoman.load(tmp_path / name, **options) as translator:
            outputs.append(
                translator.translate(LINES, beam=1, maximum_length=12, degenerate="keep")
            )
    fewer = importer_of(nllb_folder).read(nllb_folder, (None, None))
    there = trimmed(fewer, trimming).vocabularies.target
    same = [
        (before, after)
        for before, after in zip(*outputs, strict=True)
        if UNK not in there.encode(before)
    ]
    assert same
    assert all(before == after for before, after in same)


class TestLanguages:
    def test_only_the_named_ones_stay(self, nllb_folder: Path, tmp_path: Path) -> None:
        whole = importer_of(nllb_folder).read(nllb_folder, (None, None))
        fewer = trimmed(whole, Trimming([write(tmp_path / "text", LINES)], ["en", "kor_Hang"]))
        languages = [direction.target_language for direction in fewer.config.directions]
        assert languages == ["eng_Latn", "kor_Hang"]
        vocabulary = fewer.vocabularies.source
        assert vocabulary.pieces(vocabulary.tags) == ["<2eng_Latn>", "<2kor_Hang>"]

    @pytest.mark.parametrize(
        ("languages", "to", "message"),
        [
            (["en", "fr"], None, "the model has no language fr; its languages are deu_Latn, "),
            (["en"], None, "--languages en: name two or more, such as deu_Latn,eng_Latn"),
            (["en", "ko"], "deu_Latn", "--languages en,ko lacks deu_Latn, which --to-language"),
        ],
    )
    def test_others_are_refused(
        self, nllb_folder: Path, tmp_path: Path, languages: list[str], to: str | None, message: str
    ) -> None:
        trimming = Trimming([write(tmp_path / "text", LINES)], languages)
        with pytest.raises(ConfigError, match=message):
            import_model(nllb_folder, tmp_path / "ours", languages=(None, to), trimming=trimming)
        assert not (tmp_path / "ours").exists()

    def test_of_a_model_of_one_direction(self, tmp_path: Path) -> None:
        folder = MODELS / "huggingface_marian" / "shared"
        whole = importer_of(folder).read(folder, ("en", "de"))
        text = write(tmp_path / "text", ["a"])
        directions = trimmed(whole, Trimming([text], ["en", "de"])).config.directions
        assert directions == trimmed(whole, Trimming([text])).config.directions
        with pytest.raises(ConfigError, match=r"--languages en: .* name a target language"):
            trimmed(whole, Trimming([text], ["en"]))


def test_the_command(nllb_folder: Path, tmp_path: Path) -> None:
    text = write(tmp_path / "text", LINES[:2])
    output = ("--output", tmp_path / "ours", "--json")
    called = call("import", nllb_folder, "--languages", "en,ko", "--text", text, *output)
    notes = json.loads(called.out)["notes"]
    assert any(note.startswith("Trimmed to the languages en, ko and the pieces") for note in notes)


def test_a_trimmed_model_adapts(nllb_folder: Path, tmp_path: Path) -> None:
    import_model(
        nllb_folder,
        tmp_path / "ours",
        trimming=Trimming([write(tmp_path / "text", LINES)], ["en", "de"]),
    )
    texts = {
        "domain": ["the little house\tein kleines Haus"],
        "general": [f"the lake {number}\tam See {number}" for number in "abcd"],
        "dev": ["a little lake\tein kleiner See"],
    }
    files = [write(tmp_path / f"{name}.tsv", ["en\tde", *texts[name]]) for name in texts]
    settings = ("--general", files[1], "--general-dev", files[2], "--may-lose", 90)
    steps = ("--set", "training.max_steps=1", "--set", "training.validation_steps=1")
    run = ("--run", tmp_path / "run")
    called = call("adapt", tmp_path / "ours", files[0], *settings, *steps, *run)
    assert called.code == 0, called.err


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "text: "), ("", "text: the file is empty"), (" \n\n", "text: has only blank lines")],
)
def test_text_that_is_missing_or_empty(
    nllb_folder: Path, tmp_path: Path, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "text").write_text(content)
    arguments = ("import", nllb_folder, "--output", tmp_path / "ours")
    assert message in one_error(call(*arguments, "--text", tmp_path / "text"), 3)
    assert "--languages needs --text FILE" in one_error(call(*arguments, "--languages", "en,ko"), 2)
    assert not (tmp_path / "ours").exists()
