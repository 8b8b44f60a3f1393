"""Word alignments beside a store: the right links on the right rows, and on the right pieces."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.core.errors import DataError
from dragoman.data.alignments import AlignedBatches, prepare_alignments
from dragoman.data.batches import Batch, Batches
from dragoman.data.prepare import prepare
from dragoman.data.store import Store, StoreWriter
from dragoman.text.corpora.cleaning import CleaningConfig, held_out_keys
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.pharaoh import Link
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

CLEANING = CleaningConfig(max_length_ratio=None, min_identical_words=None)

PAIRS: list[tuple[str, str, list[Link]]] = [
    ("ein haus", "das  haus", [(0, 0), (1, 1)]),
    ("", "haus", []),  # dropped: empty
    ("das haus läuft gern", "heute läuft ein hund", [(2, 1), (1, 3), (0, 2)]),
    ("ein haus", "das haus", [(0, 1)]),  # dropped: a duplicate
    ("hund \x01 katze", "hund katze", [(2, 1)]),  # a word of it goes
    ("baum " * 50, "nie", [(7, 0)]),  # dropped: too many pieces
    ("hund nie", "katze", [(0, 0)]),  # dropped: held out
    ("heute", "nie nie", [(0, 0), (0, 1)]),
    ("schläft", "gern", []),
]
KEPT = [0, 2, 4, 7, 8]
HELD_OUT = held_out_keys([Pair("hund nie", "baum", 1)])


def text_of(links: Sequence[Link]) -> str:
    return " ".join(f"{source}-{target}" for source, target in links) + "\n"


def write(folder: Path, pairs: Sequence[tuple[str, str, list[Link]]] = PAIRS) -> CorpusPart:
    folder.mkdir(exist_ok=True)
    for name, lines in (
        ("a", [f"{source}\n" for source, _, _ in pairs]),
        ("b", [f"{target}\n" for _, target, _ in pairs]),
        ("links", [text_of(links) for _, _, links in pairs]),
    ):
        (folder / name).write_text("".join(lines), encoding="utf-8")
    return CorpusPart(
        source=str(folder / "a"), target=str(folder / "b"), alignments=str(folder / "links")
    )


def prepared(
    folder: Path, parts: Sequence[CorpusPart], vocabularies: Vocabularies
) -> tuple[Store, Store]:
    store, _ = prepare(
        folder / "data", parts, vocabularies, CLEANING, max_pieces=40, held_out=HELD_OUT
    )
    links = prepare_alignments(
        folder / "alignments", store, parts, vocabularies, CLEANING, held_out=HELD_OUT
    )
    return store, links


def rows_of(links: Store) -> list[list[Link]]:
    return [
        list(zip(links.source(row).tolist(), links.target(row).tolist(), strict=True))
        for row in range(len(links))
    ]


def test_rows_keep_the_links_of_their_lines(
    tmp_path: Path, vocabularies: Vocabularies, caplog: pytest.LogCaptureFixture
) -> None:
    """Also behind a part without any, and where cleaning or encoding dropped lines before."""
    part = write(tmp_path / "one")
    without = write(tmp_path / "two", PAIRS[:1]).model_copy(update={"alignments": None})
    with caplog.at_level(logging.WARNING):
        store, links = prepared(tmp_path, [without, part], vocabularies)
    expected = [PAIRS[number][2] if number != 4 else [] for number in KEPT]
    assert rows_of(links) == [[], *expected]
    assert len(store) == len(links)
    assert "1 pairs are trained on without their alignments" in caplog.text


@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u3000", " \u00a0 "])
@pytest.mark.parametrize("side", [0, 1])
def test_links_are_left_out_where_aligners_count_words_differently(
    space: str,
    side: int,
    tmp_path: Path,
    vocabularies: Vocabularies,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The last word is number 1 for fast_align, or 3 where the space stands alone."""
    texts = ["das haus läuft", "das haus läuft"]
    texts[side] = f"das{space}haus läuft"
    last = len([word for word in texts[side].split(" ") if word]) - 1
    link = (last, 2) if side == 0 else (2, last)
    part = write(tmp_path / "one", [(texts[0], texts[1], [link]), ("heute", "nie", [(0, 0)])])
    with caplog.at_level(logging.WARNING):
        _, links = prepared(tmp_path, [part], vocabularies)
    assert rows_of(links) == [[], [(0, 0)]]
    assert "1 pairs are trained on without their alignments" in caplog.text


def test_a_part_without_links_is_not_held_in_memory(
    tmp_path: Path, vocabularies: Vocabularies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.data.alignments._CHUNK_PAIRS", 2)
    without = write(tmp_path / "one").model_copy(update={"alignments": None})
    store, _ = prepare(tmp_path / "data", [without], vocabularies, CLEANING, max_pieces=40)
    appended: list[int] = []
    append = StoreWriter.append

    def counted(self: StoreWriter, *sides: Any) -> None:
        appended.append(len(sides[1]))
        append(self, *sides)

    monkeypatch.setattr(StoreWriter, "append", counted)
    links = prepare_alignments(tmp_path / "links", store, [without], vocabularies, CLEANING)
    assert rows_of(links) == [[]] * len(store)
    assert len(store) > max(appended) == 2


def test_they_are_made_again_when_they_or_the_text_change_and_only_then(
    tmp_path: Path, vocabularies: Vocabularies
) -> None:
    def made() -> int:
        prepared(tmp_path, [part], vocabularies)
        return (tmp_path / "alignments" / "store.json").stat().st_ino

    part = write(tmp_path / "one")
    first = made()
    assert made() == first
    write(tmp_path / "one", [(s, t, links[:1]) for s, t, links in PAIRS])
    second = made()
    assert second != first
    (tmp_path / "one" / "a").write_text("ein baum\n" + "\n".join(s for s, _, _ in PAIRS[1:]) + "\n")
    third = made()
    assert third != second
    write(tmp_path / "one", PAIRS[2:])
    assert made() != third
    assert rows_of(Store.open(tmp_path / "alignments"))[0] == PAIRS[2][2]


@pytest.mark.parametrize(
    ("pairs", "links", "message"),
    [
        (3, "0-0\n0-0\n", r"links has 2 lines and one/a \+ b has 3 pairs"),
        (1, "0-0\n0-0\n\n", r"links has 3 lines and one/a \+ b has 1 pairs"),
        (1, "1-2\n", "links:1: target word 2 is linked, but the target has 2 words"),
        (1, "2-0\n", "links:1: source word 2 is linked, but the source has 2 words"),
        (1, "0-0 x\n", "links:1: 'x' is not a link"),
    ],
)
def test_links_that_do_not_fit_the_text_are_told(
    pairs: int, links: str, message: str, tmp_path: Path, vocabularies: Vocabularies
) -> None:
    part = write(tmp_path / "one", [PAIRS[0], PAIRS[2], PAIRS[7]][:pairs])
    (tmp_path / "one" / "links").write_text(links)
    with pytest.raises(DataError, match=message):
        prepared(tmp_path, [part], vocabularies)
    assert not (tmp_path / "alignments").exists()


def test_a_store_of_other_text_is_told(tmp_path: Path, vocabularies: Vocabularies) -> None:
    """What else may change a text between file and store must not shift links silently."""
    part = write(tmp_path / "one")
    store, _ = prepared(tmp_path, [part], vocabularies)
    for other in (PAIRS[2:], PAIRS[:-1]):
        changed = write(tmp_path / "two", other)
        with pytest.raises(DataError, match="the prepared text is not that of the file"):
            prepare_alignments(
                tmp_path / "other", store, [changed], vocabularies, CLEANING, held_out=HELD_OUT
            )


@pytest.mark.parametrize("sampling", [0.0, 0.5])
def test_pieces_are_linked_as_their_words_are(
    sampling: float,
    tmp_path: Path,
    vocabularies: Vocabularies,
    corpus_of: Callable[..., CorpusPart],
) -> None:
    """Each word is linked to the one after it: pieces joined by their links must spell both."""
    part = corpus_of(60)
    sources, targets = (path.read_text(encoding="utf-8").split("\n")[:-1] for path in part.files())
    shared = [min(len(s.split()), len(t.split())) for s, t in zip(sources, targets, strict=True)]
    (tmp_path / "links").write_text(
        "".join(text_of([((i + 1) % n, i) for i in range(n)]) for n in shared)
    )
    part = part.model_copy(update={"alignments": str(tmp_path / "links")})
    everything = CleaningConfig(max_length_ratio=None, drop_duplicates=False)
    store, _ = prepare(tmp_path / "data", [part], vocabularies, everything, max_pieces=99)
    links = prepare_alignments(tmp_path / "alignments", store, [part], vocabularies, everything)
    batches = Batches(store, 200, 90, seed=1, vocabularies=vocabularies, sampling=sampling)
    stream = AlignedBatches(batches, links, vocabularies)
    seen: list[int] = []
    for step in stream.window(0, 0, start=1):
        for batch in step:
            seen += batch.rows.tolist()
            for place, row in enumerate(batch.rows.tolist()):
                first, *later = sources[row].split()[: shared[row]]
                words = zip([*later, first], targets[row].split(), strict=False)
                expected = [(f"\u2581{source}", f"\u2581{target}") for source, target in words]
                assert spelt(batch, place, vocabularies) == expected
    assert len(seen) > 30


def spelt(batch: Batch, place: int, vocabularies: Vocabularies) -> list[tuple[str, str]]:
    """The text of source pieces, and of all target pieces that are linked to just these."""
    assert batch.alignments is not None
    source = vocabularies.source.pieces(batch.source[place].tolist())
    target = vocabularies.target.pieces(batch.target_output[place].tolist())
    groups: dict[tuple[int, ...], str] = {}
    for piece, row in zip(target, batch.alignments[place], strict=True):
        if positions := tuple(row.nonzero().flatten().tolist()):
            groups[positions] = groups.get(positions, "") + piece
    return [("".join(source[i] for i in positions), text) for positions, text in groups.items()]


def test_trees_are_linked_by_their_format(tmp_path: Path) -> None:
    lines = ["(S (NP (DT das) (NN haus)) (VBZ schläft))", "", "(NP (NN haus))"]
    (tmp_path / "a.trees").write_text("\n".join(lines) + "\n", encoding="utf-8")
    part = CorpusPart(path=str(tmp_path / "a.trees"), source="words", target="tagged")
    config = VocabularyConfig(size=20, joint=False, target_kind="word")
    vocabularies = train_vocabularies(read_pairs(part), config, seed=1)
    _, links = prepared(tmp_path, [part], vocabularies)
    #         (S (NP DT NN )NP VBZ )S   and   (NP NN )NP
    assert [list(links.source(row)) for row in range(2)] == [[0, 0, 0, 1, 1, 2, 2], [0, 0, 0]]
    assert [list(links.target(row)) for row in range(2)] == [[*range(7)], [0, 1, 2]]
