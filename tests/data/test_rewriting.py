"""Text that changes from epoch to epoch, as training sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.data.batches import Batch, Batches
from dragoman.data.prepare import prepare
from dragoman.data.rewriting import Rewriter
from dragoman.data.store import Store
from dragoman.text.corpora.cleaning import CleaningConfig
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.vocabularies import EOS, PAD, UNK, Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

WORDS = ("ein", "das", "haus", "baum", "hund", "katze", "läuft", "schläft", "gern", "heute", "nie")
NOISE = [{"kind": "tag"}, {"kind": "noise", "drop": 0.2, "mask": 0.1}]


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    pairs = [(f"{one} {other}", one) for one in WORDS for other in WORDS]
    config = VocabularyConfig(size=70, tags=("<2de>", "<2fr>", "<mask>"))
    return train_vocabularies(pairs, config, seed=1)


@pytest.fixture
def made(
    tmp_path: Path, corpus_of: Callable[..., CorpusPart], vocabularies: Vocabularies
) -> Callable[..., tuple[Store, list[CorpusPart]]]:
    """A function that prepares parts with transforms."""

    def make(*transforms: list[dict[str, Any]], **values: Any) -> tuple[Store, list[CorpusPart]]:
        parts = [
            CorpusPart.model_validate(
                {**corpus_of(60, f"part{n}").model_dump(), "transforms": one, **values}
            ).resolved("en", ("de", "fr")[n])
            for n, one in enumerate(transforms)
        ]
        keep = CleaningConfig(drop_duplicates=False)
        store, _ = prepare(tmp_path / "data", parts, vocabularies, keep, max_pieces=100)
        return store, parts

    return make


Made = Callable[..., tuple[Store, list[CorpusPart]]]


def shown(steps: Iterable[list[Batch]]) -> list[tuple[int, list[int], list[int]]]:
    """Row, source and target of each sentence, in any order within a step."""
    return [
        sentence
        for step in steps
        for sentence in sorted(
            (row, [i for i in source if i != PAD], [i for i in target if i != PAD])
            for batch in step
            for row, source, target in zip(
                batch.rows.tolist(),
                batch.source.tolist(),
                batch.target_output.tolist(),
                strict=True,
            )
        )
    ]


def test_noise_changes_sources_in_each_epoch_and_keeps_targets(
    made: Made, vocabularies: Vocabularies
) -> None:
    store, parts = made(NOISE, [{"kind": "tag"}])
    batches = Batches(store, 200, seed=1, vocabularies=vocabularies, parts=parts)
    first, second = (shown(batches.epoch(epoch)) for epoch in (0, 1))
    assert shown(batches.epoch(0)) == first
    assert sorted(row for row, _, _ in first) == list(range(120))
    by_row = {row: source for row, source, _ in second}
    changed = {row for row, source, _ in first if source != by_row[row]}
    assert changed
    assert max(changed) < 60 <= len(changed) + 30  # most of the first part, none of the other
    for row, source, target in chain(first, second):
        tag = "<2de>" if row < 60 else "<2fr>"
        words = vocabularies.source.decode(source).split()
        assert words[0] == tag
        stored = vocabularies.source.decode(store.source(row).tolist()).split()
        assert not set(words) - set(stored) - {"<mask>"}
        assert target == [*store.target(row).tolist(), EOS]
        if row >= 60:
            assert source == [*store.source(row).tolist(), EOS]


def test_a_seed_gives_other_noise(made: Made, vocabularies: Vocabularies) -> None:
    store, parts = made(NOISE)
    one, other = (
        sorted(shown(Batches(store, 200, seed=s, vocabularies=vocabularies, parts=parts).epoch(0)))
        for s in (1, 2)
    )
    assert one != other


@pytest.mark.parametrize("sampling", [0.0, 0.2])
def test_an_epoch_goes_on_from_any_step(
    made: Made,
    vocabularies: Vocabularies,
    sampling: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dragoman.data.batches.POOL_BATCHES", 5)
    store, parts = made(NOISE)
    batches = Batches(store, 60, seed=1, vocabularies=vocabularies, parts=parts, sampling=sampling)
    whole = [shown([step]) for step in batches.window(1, 0)]
    assert len(whole) > 10
    for start in (1, 5, 7, len(whole) - 1):
        assert [shown([step]) for step in batches.window(1, 0, start)] == whole[start:]


def test_another_process_changes_text_alike(made: Made, vocabularies: Vocabularies) -> None:
    store, parts = made(NOISE)
    options: dict[str, Any] = {"seed": 1, "vocabularies": vocabularies, "parts": parts}
    here, apart = (Batches(store, 200, **options, apart=apart) for apart in (False, True))
    assert shown(apart.epoch(1)) == shown(here.epoch(1))


@pytest.mark.parametrize("device_tokens", [None, 40])
def test_ranks_share_the_text_of_one_process(
    made: Made, vocabularies: Vocabularies, device_tokens: int | None
) -> None:
    store, parts = made(NOISE)
    options: dict[str, Any] = {"seed": 1, "vocabularies": vocabularies, "parts": parts}
    alone = shown(Batches(store, 200, **options).epoch(0))
    ranks = [
        Batches(store, 200, device_tokens, rank=rank, world_size=2, **options).epoch(0)
        for rank in range(2)
    ]
    assert shown(list(chain(*steps)) for steps in zip(*ranks, strict=True)) == alone


def test_a_line_that_is_shown_more_often_is_another_each_time(
    made: Made, vocabularies: Vocabularies
) -> None:
    store, parts = made(NOISE, weight=8)
    seen = shown(Batches(store, 200, seed=1, vocabularies=vocabularies, parts=parts).epoch(0))
    assert len(seen) == 480
    long = next(row for row in range(60) if len(store.source(row)) > 12)
    assert len({tuple(source) for row, source, _ in seen if row == long}) > 4


def test_a_share_of_the_sources_is_tagged(made: Made, vocabularies: Vocabularies) -> None:
    store, parts = made([{"kind": "tag", "share": 0.5}])
    assert store.parts[0].tags == ()
    seen = shown(Batches(store, 200, seed=1, vocabularies=vocabularies, parts=parts).epoch(0))
    tagged = [row for row, source, _ in seen if source[0] == vocabularies.source.tag("<2de>")]
    assert 15 < len(tagged) < 45
    for row, source, _ in seen:
        assert source[int(row in tagged) :] == [*store.source(row).tolist(), EOS]


def test_a_transform_begins_in_its_epoch(made: Made, vocabularies: Vocabularies) -> None:
    always = {"kind": "tag", "share": 0.5}
    store, parts = made([always], [{"kind": "tag", "from_epoch": 2}])
    assert store.parts[1].tags == ()  # such a tag is not stored, even if all examples get it
    batches = Batches(store, 200, seed=1, vocabularies=vocabularies, parts=parts)
    tags = {row: vocabularies.source.tag("<2de>" if row < 60 else "<2fr>") for row in range(120)}
    for epoch, late in ((0, 0), (1, 0), (2, 60), (3, 60)):
        seen = shown(batches.epoch(epoch))
        tagged = [row for row, source, _ in seen if source[0] == tags[row]]
        assert sum(row >= 60 for row in tagged) == late
        assert 15 < sum(row < 60 for row in tagged) < 45


def test_unknown_pieces_and_what_becomes_too_long_stay(
    tmp_path: Path, vocabularies: Vocabularies
) -> None:
    (tmp_path / "a.tsv").write_text("en\tde\nhaus ☃ baum nie\thaus\n", encoding="utf-8")
    values = {"path": str(tmp_path / "a.tsv"), "source": "en", "target": "de"}
    noises: list[dict[str, Any]] = [
        {"kind": "noise", "drop": 0.9},
        {"kind": "case", "to": "upper", "share": 0.999},
    ]
    for noise in noises:
        part = CorpusPart.model_validate({**values, "transforms": [noise]})
        store, _ = prepare(
            tmp_path / str(noise["kind"]), [part], vocabularies, CleaningConfig(), max_pieces=8
        )
        batches = Batches(store, 100, seed=1, vocabularies=vocabularies, parts=[part])
        ((_, source, _),) = shown(batches.epoch(0))
        assert source == [*store.source(0).tolist(), EOS]


@pytest.mark.parametrize(("source", "target"), [("haus", "baum ☃ nie"), ("haus ☃", "baum nie")])
def test_a_side_does_not_change_without_the_other(
    tmp_path: Path, vocabularies: Vocabularies, source: str, target: str
) -> None:
    """One with an unknown piece stays: what replaces the other would not be its translation."""
    (tmp_path / "a.tsv").write_text(f"en\tde\n{source}\t{target}\n", encoding="utf-8")
    values = {"path": str(tmp_path / "a.tsv"), "source": "en", "target": "de"}
    changes = [{"kind": "pass_through", "share": 1.0}, {"kind": "tag"}]
    part = CorpusPart.model_validate({**values, "transforms": changes}).resolved("en", "de")
    store, _ = prepare(tmp_path / "data", [part], vocabularies, CleaningConfig(), max_pieces=50)
    batches = Batches(store, 100, seed=1, vocabularies=vocabularies, parts=[part])
    ((_, read, written),) = shown(batches.epoch(0))
    tag = vocabularies.source.encode("<2de>")
    assert read == [*tag, *store.source(0).tolist(), EOS]
    assert written == [*store.target(0).tolist(), EOS]


def test_a_side_changes_beside_an_unknown_piece_of_a_side_that_stays(
    tmp_path: Path, vocabularies: Vocabularies
) -> None:
    (tmp_path / "a.tsv").write_text("en\tde\nhaus baum nie\tbaum ☃\n", encoding="utf-8")
    values = {"path": str(tmp_path / "a.tsv"), "source": "en", "target": "de"}
    noise = {"kind": "noise", "drop": 0.5}
    part = CorpusPart.model_validate({**values, "transforms": [noise]}).resolved("en", "de")
    store, _ = prepare(tmp_path / "data", [part], vocabularies, CleaningConfig(), max_pieces=50)
    assert UNK in store.target(0)
    batches = Batches(store, 100, seed=1, vocabularies=vocabularies, parts=[part])
    sources = [source for epoch in range(5) for _, source, _ in shown(batches.epoch(epoch))]
    assert any(source != [*store.source(0).tolist(), EOS] for source in sources)


@pytest.mark.parametrize("room", [0, 1, 2, 100])
@pytest.mark.parametrize("copied", [False, True])
def test_a_pair_that_becomes_too_long_keeps_its_tag(
    tmp_path: Path, room: int, copied: bool
) -> None:
    """Only what is drawn is given up; where the tag does not fit, the end of the source is."""
    both_cases = [(f"{one} {one.upper()}", one) for one in WORDS]
    vocabularies = train_vocabularies(
        both_cases, VocabularyConfig(size=70, tags=("<2de>",)), seed=1
    )
    (tmp_path / "a.tsv").write_text("en\tde\nbaum haus nie\tbaum haus nie\n", encoding="utf-8")
    (tmp_path / "b.de").write_text("baum haus nie\n", encoding="utf-8")
    pieces = vocabularies.source.encode("baum haus nie")
    tag = vocabularies.source.encode("<2de>")
    assert len(tag) == 1
    upper: dict[str, Any] = {"kind": "case", "to": "upper", "share": 0.999}
    values: dict[str, Any] = (
        {"target": str(tmp_path / "b.de"), "transforms": [upper, {"kind": "copy"}]}
        if copied
        else {"path": str(tmp_path / "a.tsv"), "source": "en", "target": "de"}
        | {"transforms": [upper]}
    )
    values["transforms"].append({"kind": "tag"})
    upper["sides"] = "both"
    part = CorpusPart.model_validate(values).resolved("en", "de")
    longest = len(pieces) + room
    store, _ = prepare(
        tmp_path / "data", [part], vocabularies, CleaningConfig(), max_pieces=longest
    )
    batches = Batches(store, 100, seed=1, vocabularies=vocabularies, parts=[part])
    ((_, source, target),) = shown(batches.epoch(0))
    if room == 100:
        assert source[:1] == tag
        assert source[1:-1] != pieces
    else:
        assert source == [*[*tag, *pieces][:longest], EOS]
        assert target == [*pieces, EOS]


@pytest.mark.parametrize("side", ["source", "target", "both"])
def test_letters_that_the_vocabulary_lacks_do_not_become_unknown_pieces(
    made: Made, vocabularies: Vocabularies, side: str
) -> None:
    upper = {"kind": "case", "to": "upper", "sides": side, "share": 0.999}
    store, parts = made([{"kind": "tag", "share": 0.999}, upper])
    batches = Batches(store, 200, seed=1, vocabularies=vocabularies, parts=parts)
    seen = shown(batches.epoch(0))
    assert len(seen) == 60
    for row, source, target in seen:
        assert source[-len(store.source(row)) - 1 :] == [*store.source(row).tolist(), EOS]
        assert target == [*store.target(row).tolist(), EOS]


def test_text_without_a_source_changes_too(tmp_path: Path, vocabularies: Vocabularies) -> None:
    (tmp_path / "b").write_text("HAUS\n", encoding="utf-8")
    lower = {"kind": "case", "to": "lower", "sides": "target", "share": 0.999}
    part = CorpusPart.model_validate({"target": str(tmp_path / "b"), "transforms": [lower]})
    pairs = [(f"{one} {one.upper()}", one) for one in WORDS]
    known = train_vocabularies(pairs, VocabularyConfig(size=70), seed=1)
    store, _ = prepare(tmp_path / "data", [part], known, CleaningConfig(), max_pieces=9)
    batches = Batches(store, 100, seed=1, vocabularies=known, parts=[part])
    ((_, source, target),) = shown(batches.epoch(0))
    assert (source, target) == ([EOS], [*known.target.encode("haus"), EOS])


def test_only_what_changes_is_split_again(
    made: Made, vocabularies: Vocabularies, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, parts = made([{"kind": "tag"}, {"kind": "noise", "window": 0, "drop": 0.1}])
    rewriter = Rewriter(store, vocabularies, parts, 1)
    encoded: list[str] = []
    decoded: list[list[int]] = []
    of_pieces = SentencePieceVocabulary
    encode, decode = of_pieces.encode_batch, of_pieces.decode

    def encode_noted(
        self: SentencePieceVocabulary, texts: Sequence[str], **options: Any
    ) -> list[list[int]]:
        encoded.extend(texts)
        return encode(self, texts, **options)

    def decode_noted(self: SentencePieceVocabulary, ids: Iterable[int]) -> str:
        decoded.append(list(ids))
        return decode(self, decoded[-1])

    monkeypatch.setattr(SentencePieceVocabulary, "encode_batch", encode_noted)
    monkeypatch.setattr(SentencePieceVocabulary, "decode", decode_noted)
    rows = np.arange(len(store), dtype=np.int64)
    sources, lengths = rewriter(rows, np.zeros_like(rows), 0)[0]
    ends = np.cumsum(lengths)
    after = [sources[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    stored = [store.source(row).tolist() for row in range(len(store))]
    changed = sum(one.tolist() != ids for one, ids in zip(after, stored, strict=True))
    assert 0 < changed == len(encoded) < len(rows)
    assert decoded == [ids[1:] for ids in stored]


def test_text_that_outgrows_its_batches_is_rewritten_all_the_same(
    made: Made, vocabularies: Vocabularies, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are as many steps as were planned, and they exceed the budget instead."""
    monkeypatch.setattr("dragoman.data.resampling._ROOM", 0.2)
    store, parts = made([{"kind": "tag", "share": 0.999}])
    batches = Batches(store, 50, seed=1, vocabularies=vocabularies, parts=parts)
    steps = list(batches.epoch(0))
    assert max(batch.source.numel() for batch in chain(*steps)) > 100
    seen = shown(steps)
    assert sorted(row for row, _, _ in seen) == list(range(60))
    tag = vocabularies.source.tag("<2de>")
    assert sum(tag in source for _, source, _ in seen) > 55


def test_a_batch_tells_the_part_of_each_row(made: Made, vocabularies: Vocabularies) -> None:
    store, parts = made([], [{"kind": "tag"}])
    batches = Batches(store, 200, seed=1, vocabularies=vocabularies, parts=parts)
    for batch in chain.from_iterable(batches.epoch(0)):
        assert batch.parts is not None
        assert torch.equal(batch.parts, (batch.rows >= 60).long())
    assert [(p.source_language, p.target_language, p.tags) for p in batches.parts] == [
        ("en", "de", ()),
        ("en", "fr", ("<2fr>",)),
    ]
