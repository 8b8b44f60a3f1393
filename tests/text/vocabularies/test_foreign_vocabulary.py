import io
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from drawn_pieces import drawn
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, DataError, SavedError
from dragoman.text.vocabularies import (
    BOS,
    EOS,
    PAD,
    UNK,
    Vocabularies,
    Vocabulary,
    VocabularyConfig,
    load_vocabulary,
    prepare_line,
)
from dragoman.text.vocabularies.extension import extend_vocabularies, extensible
from dragoman.text.vocabularies.foreign_vocabulary import (
    Numbered,
    Special,
    characters_of,
    dictionary_over_sentencepiece,
    dictionary_over_words,
    limited_to,
    sentencepiece_vocabulary,
    subword_nmt,
    words_splitting,
)
from dragoman.text.vocabularies.listed_vocabulary import ListedVocabulary
from dragoman.text.vocabularies.piece_spans import as_split, piece_spans
from dragoman.text.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary
from dragoman.text.vocabularies.splitting import SubwordNmt

EN = ["the old fox jumps over the dog", "a dog sees the fox's den!", "is the house old?"] * 4
DE = ["der alte Fuchs springt über den Hund", "ein Hund sieht das Haus"] * 4
OTHERS = [
    "лиса видит собаку",
    "狐は犬を見る",
    "여우가 개를 본다",
    "η αλεπού βλέπει",
    "الثعلب يرى",
] * 4
ESCAPE = ["& a", "&a p", "&ap o", "&apo s", "&apos ;", "&apos; s</w>"]
CODES = ["#version: 0.2", "t h", "th e</w>", "o l", "ol d</w>", "f o", "fo x</w>", *ESCAPE]
TABLE = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
FAIRSEQ = Special("<pad>", "<unk>", "</s>", "</s>")
MARIAN = Special("<pad>", "<unk>", None, "</s>")

lines = st.text(
    alphabet=sorted(set("".join(EN + DE + OTHERS)) | set("Źz<>&'\"-x@ \t")), max_size=40
)


@cache
def spm(kind: str, *texts: str, size: int = 90, **options: Any) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        model_type=kind,
        vocab_size=size,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


@cache
def processor(model: bytes) -> sentencepiece.SentencePieceProcessor:
    found = sentencepiece.SentencePieceProcessor()
    found.LoadFromSerializedProto(model)
    return found


def pieces_of(model: bytes) -> list[str]:
    one = processor(model)
    return [one.id_to_piece(i) for i in range(len(one))]


KINDS = {
    "unigram": spm("unigram", *EN, *OTHERS),
    "bpe": spm("bpe", *EN, *OTHERS, size=110, bos_id=2, eos_id=1, unk_id=0),
    "bytes": spm("bpe", *EN, size=320, byte_fallback=True, pad_id=3),
}


class TestSentencepiece:
    @pytest.mark.parametrize("kind", KINDS)
    @given(line=lines)
    def test_pieces_are_the_original_ones_in_our_order(self, kind: str, line: str) -> None:
        model = KINDS[kind]
        numbered = renumbered(model)
        ids = numbered.vocabulary.encode(line)
        original = processor(model).encode(prepare_line(line))
        assert [numbered.rows[i] for i in ids] == original
        plain = processor(model).decode(original).replace(" \u2047 ", "\u2047").strip()
        assert numbered.vocabulary.decode(ids).strip() == plain

    @pytest.mark.parametrize("kind", KINDS)
    def test_it_is_like_a_trained_one(self, kind: str, tmp_path: Path) -> None:
        vocabulary = renumbered(KINDS[kind]).vocabulary
        assert isinstance(vocabulary, SentencePieceVocabulary)
        assert vocabulary.pieces(range(4)) == ["<pad>", "<unk>", "<s>", "</s>"]
        others = [one for one in pieces_of(KINDS[kind]) if one not in vocabulary.pieces(range(4))]
        assert vocabulary.pieces(range(4, len(vocabulary))) == others
        assert vocabulary.has_bytes == (kind == "bytes")
        assert vocabulary.is_unigram == (kind == "unigram")
        Vocabularies(vocabulary, vocabulary).save(tmp_path)
        assert Vocabularies.load(tmp_path).source.fingerprint == vocabulary.fingerprint
        assert extensible(vocabulary)

    @pytest.mark.parametrize("kind", ["bpe", "unigram"])
    def test_symbols_of_characters_that_are_no_pieces_are_not_split(self, kind: str) -> None:
        vocabulary = renumbered(spm(kind, *EN, user_defined_symbols="ß€")).vocabulary
        assert "ß€" in vocabulary.pieces(vocabulary.encode("the ß€s"))
        for found in drawn(vocabulary, ["the ß€s", "ß€ fox"] * 20, 0.5):
            assert vocabulary.pieces(found).count("ß€") == 1
            assert vocabulary.decode(found) in {"the ß€s", "ß€ fox"}

    def test_symbols_that_it_lacks_have_no_row(self) -> None:
        rows = renumbered(KINDS["unigram"]).rows
        assert rows[PAD] is None
        assert rows[UNK : EOS + 1] == (0, 1, 2)

    @pytest.mark.parametrize("model", [b"", b"garbage", KINDS["bpe"][:100], b"\x0a\x02\x0a\x00"])
    def test_garbage_is_refused(self, model: bytes) -> None:
        with pytest.raises(DataError, match=r"x\.model: (not a sentencepiece model|a sentence)"):
            sentencepiece_vocabulary(model, "x.model")


@cache
def renumbered(model: bytes) -> Numbered:
    return sentencepiece_vocabulary(model, "x.model")


def marian_ids(*models: bytes, more: tuple[str, ...] = ()) -> dict[str, int]:
    found = {"</s>": 0, "<unk>": 1}
    for model in models:
        for piece in pieces_of(model)[3:]:
            found.setdefault(piece, len(found))
    return found | {piece: len(found) + i for i, piece in enumerate((*more, "<pad>"))}


SOURCE, TARGET = spm("unigram", *EN, size=50), spm("unigram", *DE, size=50)


class TestMarian:
    """Two sentencepiece models and one ``vocab.json``."""

    @given(line=lines)
    def test_pieces_are_looked_up_as_the_original_does(self, line: str) -> None:
        ids = marian_ids(SOURCE, TARGET)
        side = over(SOURCE, ids)
        found = [side.rows[i] for i in side.vocabulary.encode(line)]
        text = prepare_line(line)
        assert found == [ids.get(one, 1) for one in processor(SOURCE).encode(text, out_type=str)]
        assert "".join(side.vocabulary.surfaces(line)) == side.vocabulary.normalized(line)

    @pytest.mark.parametrize("line", [*EN[:3], *DE[:2], *OTHERS[:2]])
    def test_a_tag_comes_first_and_pieces_are_joined_as_there(self, line: str) -> None:
        """What transformers' MarianTokenizer does; the tests of its importer use its own output."""
        ids = marian_ids(SOURCE, TARGET, more=(">>deu<<",))
        side = over(SOURCE, ids, tags={">>deu<<": "<2deu>"})
        found = [side.rows[i] for i in side.vocabulary.encode(f"<2deu> {line}")]
        pieces = processor(SOURCE).encode(line, out_type=str)
        assert found == [ids[">>deu<<"], *(ids.get(one, 1) for one in pieces)]
        target = over(TARGET, ids, tags={">>deu<<": "<2deu>"}).vocabulary
        known = [i for i in target.encode(line) if i != UNK]
        text = processor(TARGET).decode(target.pieces(known)).replace("▁", " ").strip()
        assert target.decode(known) == text

    def test_both_sides_have_the_same_ids(self, tmp_path: Path) -> None:
        tags = {">>deu<<": "<2deu>", ">>nld<<": "<2nld>"}
        ids = marian_ids(SOURCE, TARGET, more=tuple(tags))
        sides = Vocabularies(*(over(one, ids, tags=tags).vocabulary for one in (SOURCE, TARGET)))
        assert sides.same_ids
        assert not sides.joint
        assert sides.source.pieces(sides.source.language_tags) == ["<2deu>", "<2nld>"]
        assert sides.source.tag("<2nld>") == sides.target.tag("<2nld>")
        assert sides.target.decode(sides.target.encode("ein Hund")) == "ein Hund"
        assert sides.target.decode(sides.source.encode("the dog")) == "the dog"
        (tmp_path / "saved").mkdir()
        sides.save(tmp_path / "saved")
        again = Vocabularies.load(tmp_path / "saved")
        assert again.fingerprints == sides.fingerprints
        assert again.source.sentencepiece == SOURCE

    def test_splitting_may_be_limited_to_the_dictionary(self) -> None:
        model = spm("bpe", *EN, size=60)
        long = [one for one in pieces_of(model) if len(one) > 2]
        ids = {one: i for i, one in enumerate(pieces_of(model)) if one not in long[3:]}
        special = Special(None, "<unk>", "<s>", "</s>")
        whole = dictionary_over_sentencepiece(model, ids, special, "d").vocabulary
        limited = dictionary_over_sentencepiece(model, ids, special, "d", limited=True).vocabulary
        assert UNK in whole.encode(EN[0])
        assert UNK not in limited.encode(EN[0])
        assert limited.decode(limited.encode(EN[0])) == EN[0]

    def test_text_may_be_put_in_lower_case(self) -> None:
        ids = {one: i for i, one in enumerate(pieces_of(SOURCE))}
        special = Special(None, "<unk>", "<s>", "</s>")
        lower = dictionary_over_sentencepiece(SOURCE, ids, special, "d", lowercase=True).vocabulary
        assert lower.encode("THE Old fox") == lower.encode("the old fox")
        assert UNK not in lower.encode("THE Old fox")

    @pytest.mark.parametrize(
        ("ids", "reason"),
        [
            ({"</s>": 0, "<unk>": 1}, "the dictionary has no <pad>"),
            (
                {"</s>": 0, "<unk>": 0, "<pad>": 2},
                "two pieces of the dictionary have the same number",
            ),
            ({"</s>": 0, "<unk>": -1, "<pad>": 2}, "one is (below|<) 0"),
        ],
    )
    def test_an_unusable_dictionary_is_refused(self, ids: dict[str, int], reason: str) -> None:
        with pytest.raises(DataError, match=f"vocab.json: .*{reason}"):
            dictionary_over_sentencepiece(SOURCE, ids, MARIAN, "vocab.json")


def over(model: bytes, ids: dict[str, int], tags: dict[str, str] | None = None) -> Numbered:
    key = (model, tuple(ids), tuple((tags or {}).items()))
    if key not in _OVER:
        _OVER[key] = dictionary_over_sentencepiece(model, ids, MARIAN, "vocab.json", tags=tags)
    return _OVER[key]


_OVER: dict[object, Numbered] = {}


def dictionary(pieces: list[str]) -> dict[str, int]:
    return TABLE | {piece: len(TABLE) + i for i, piece in enumerate(dict.fromkeys(pieces))}


def original(language: str, **options: bool) -> Callable[[str], list[str]]:
    """Moses and subword-nmt themselves."""
    sacremoses = pytest.importorskip("sacremoses")
    apply_bpe = pytest.importorskip("subword_nmt.apply_bpe")
    tokenizer = sacremoses.MosesTokenizer(language)
    bpe = apply_bpe.BPE(io.StringIO("\n".join(CODES)))

    def split(line: str) -> list[str]:
        words = tokenizer.tokenize(line, return_str=True, **options)
        return list(bpe.process_line(words).split())

    return split


class TestMosesAndSubwordNmt:
    @pytest.mark.parametrize("aggressive", [False, True])
    @pytest.mark.parametrize("escape", [False, True])
    @given(line=lines)
    def test_pieces_are_those_of_the_programs(
        self, aggressive: bool, escape: bool, line: str
    ) -> None:
        text = prepare_line(line)
        wanted = original("en", aggressive_dash_splits=aggressive, escape=escape)(text)
        vocabulary = words(wanted, aggressive=aggressive, escape=escape)
        ids = vocabulary.encode(line)
        special = {*TABLE, "<s_>"}
        assert all(
            (found == one) or (found == "<unk>" and one in special)
            for found, one in zip(vocabulary.pieces(ids), wanted, strict=True)
        )
        surfaces = vocabulary.surfaces(line)
        assert "".join(surfaces) == vocabulary.normalized(line)
        assert len(surfaces) == len(ids)
        plain = as_split(vocabulary, line)
        assert len(piece_spans(vocabulary, plain, plain)) == len(vocabulary.encode(plain))

    @pytest.mark.parametrize(
        "line",
        ["the old fox's den, over there!", 'a "quoted" word & more', "x-y the-old", "Ünïcode øl"],
    )
    def test_text_comes_back(self, line: str) -> None:
        wanted = original("en", aggressive_dash_splits=True)(line)
        vocabulary = words(wanted, aggressive=True)
        assert vocabulary.decode(vocabulary.encode(line)) == line

    def test_pieces_know_their_place_in_the_text(self) -> None:
        line = "the old fox's den!"
        vocabulary = words(original("en")(line))
        assert vocabulary.surfaces(line) == ["▁the", "▁old", "▁fox", "'s", "▁d", "e", "n", "!"]
        spans = piece_spans(vocabulary, line, line)
        assert [line[start:end] for start, end in spans] == [
            *("the", "old", "fox", "'s", "d", "e", "n", "!")
        ]

    def test_unknown_pieces_tags_and_names_of_special_ones(self) -> None:
        table = dictionary(["__de__", "the", "old"])
        found = dictionary_over_words(
            subword_nmt(CODES, "codes"), table, FAIRSEQ, "dict", tags={"__de__": "<2de>"}
        )
        vocabulary = found.vocabulary
        assert vocabulary.pieces(vocabulary.encode("<2de> the fox old </s>")) == [
            *("<2de>", "the", "<unk>", "old"),
            *["<unk>"] * len(subword_nmt(CODES, "codes").split("</s>")),
        ]
        assert vocabulary.decode(vocabulary.encode("<2de> the fox")) == "<2de> the ⁇"
        assert vocabulary.language_tags == vocabulary.ids(["<2de>"])
        assert vocabulary.surfaces("<2de> the") == ["<2de>", "▁the"]
        assert found.rows[BOS] == found.rows[EOS] == table["</s>"]
        assert vocabulary.decode([PAD, BOS, *vocabulary.encode("the old"), EOS]) == "the old"

    def test_merges_of_fastbpe_have_counts(self) -> None:
        plain = subword_nmt(CODES, "codes")
        counted = subword_nmt([f"{line} 7" for line in CODES[1:]], "codes")
        assert counted.split("the oldest fox") == plain.split("the oldest fox")

    def test_words_may_stay_whole(self) -> None:
        vocabulary = dictionary_over_words(
            words_splitting("x", lowercase=True), dictionary(["the", "dog."]), FAIRSEQ, "x"
        ).vocabulary
        assert vocabulary.pieces(vocabulary.encode("The cat  dog.")) == ["the", "<unk>", "dog."]
        assert vocabulary.decode(vocabulary.encode("The dog.")) == "the dog."
        assert vocabulary.encode("<s> <pad> </s> <unk>") == [UNK] * 4

    def test_splitting_may_be_limited_to_some_pieces(self) -> None:
        whole = subword_nmt(CODES, "codes")
        limited = subword_nmt(CODES, "codes", vocabulary=("the", "ol@@", "d", "fo@@", "x"))
        assert whole.split("the old fox") == ["the", "old", "fox"]
        assert limited.split("the old fox") == ["the", "ol@@", "d", "fo@@", "x"]
        assert limited.join(limited.split("the old fox")) == "the old fox"

    @pytest.mark.parametrize(
        ("codes", "reason"),
        [
            ([], "no merges here"),
            (["a b", "abc"], "line 2: 'abc' is no pair"),
            (["a b", "a b c"], "line 2: 'a b c' is no pair"),
            (["#version: x", "a b"], "line 1: .* is no version"),
        ],
    )
    def test_damaged_merges_are_refused(self, codes: list[str], reason: str) -> None:
        with pytest.raises(DataError, match=f"bpe.codes: .*{reason}"):
            subword_nmt(codes, "bpe.codes")

    def test_an_unusable_separator_is_refused(self) -> None:
        with pytest.raises(DataError, match="separator"):
            subword_nmt(CODES, "bpe.codes", separator="")


def words(pieces: list[str], **options: bool) -> Vocabulary:
    splitting = subword_nmt(CODES, "codes", tokenizer="moses", **options)
    return dictionary_over_words(splitting, dictionary(pieces), FAIRSEQ, "dict").vocabulary


class TestLists:
    vocabulary = words(["the", "old", "f@@", "ox", "é"])

    def test_a_file_is_read_as_it_was_written(self, tmp_path: Path) -> None:
        self.vocabulary.save(tmp_path / "v.pieces")
        again = load_vocabulary(tmp_path / "v.pieces")
        assert isinstance(again, ListedVocabulary)
        assert again.fingerprint == self.vocabulary.fingerprint
        assert again.encode("the old é") == self.vocabulary.encode("the old é")
        copy = pickle.loads(pickle.dumps(self.vocabulary))
        assert copy.encode("the old é") == again.encode("the old é")

    @settings(max_examples=40)
    @given(place=st.integers(0, 10_000), how=st.sampled_from(["cut", "changed"]))
    def test_a_damaged_file_is_refused(self, place: int, how: str) -> None:
        content = stored(self.vocabulary)
        place %= len(content) - 1
        damaged = content[:place]
        if how == "changed":
            damaged += bytes([content[place] ^ 1]) + content[place + 1 :]
        try:
            found = ListedVocabulary.opened(damaged)
        except SavedError:
            return
        assert found.fingerprint == self.vocabulary.fingerprint  # white space between the values

    @pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"digest": 1}', b"[" * 100_000])
    def test_garbage_is_refused(self, content: bytes) -> None:
        with pytest.raises(SavedError, match=r"truncated, altered|damaged"):
            ListedVocabulary.opened(content)

    def test_what_a_list_cannot_do_is_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"vocabulary\.sampling: .* fixed list"):
            drawn(self.vocabulary, ["the"], 0.1)
        with pytest.raises(ConfigError, match="search needs pieces that mark spaces"):
            self.vocabulary.require_space_signs("search")
        both = Vocabularies(self.vocabulary, self.vocabulary)
        with pytest.raises(ConfigError, match=r"a fixed list of pieces .* cannot be extended"):
            extend_vocabularies(both, [(("a", "b"), 1.0)], VocabularyConfig(size=50), seed=1)
        over(SOURCE, marian_ids(SOURCE, TARGET)).vocabulary.require_space_signs("search")

    def test_a_vocabulary_of_the_other_kind_is_replaced(self, tmp_path: Path) -> None:
        other = renumbered(KINDS["bpe"]).vocabulary
        Vocabularies(self.vocabulary, self.vocabulary).save(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["vocabulary.pieces"]
        Vocabularies(other, self.vocabulary).save(tmp_path)
        names = {"vocabulary.source.model", "vocabulary.target.pieces"}
        assert {path.name for path in tmp_path.iterdir()} == names
        assert not Vocabularies.load(tmp_path).same_ids
        Vocabularies(other, other).save(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["vocabulary.model"]

    def test_a_missing_package_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "subword_nmt.apply_bpe", None)
        with pytest.raises(Exception, match="subword-nmt is not installed"):
            SubwordNmt(codes=("a b",)).split("ab")


def stored(vocabulary: Vocabulary) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        vocabulary.save(Path(folder) / "v.pieces")
        return (Path(folder) / "v.pieces").read_bytes()


WHOLE = {
    "sentencepiece": lambda: renumbered(KINDS["bpe"]).vocabulary,
    "list over sentencepiece": lambda: over(SOURCE, marian_ids(SOURCE, TARGET)).vocabulary,
    "list over words": lambda: words(["the", "old", "f@@", "ox", "th@@", "e", "o@@", "ld", "t@@"]),
}


@pytest.mark.parametrize("kind", WHOLE)
class TestFewerPieces:
    """A vocabulary with only some of its pieces."""

    @settings(max_examples=30)
    @given(used=st.lists(st.sampled_from(EN), min_size=1, max_size=3), other=lines)
    def test_text_whose_pieces_stay_is_split_as_before(
        self, kind: str, used: list[str], other: str
    ) -> None:
        whole = WHOLE[kind]()
        kept = {number for text in used for number in whole.encode(text)}
        kept.update(characters_of(whole, set("".join(used))))
        unknown = set()
        if isinstance(whole, ListedVocabulary):
            unknown = {string for text in used for string in whole.strings(prepare_line(text))}
        fewer = limited_to(whole, kept, unknown)
        small = fewer.vocabulary
        for text in used:
            assert small.pieces(small.encode(text)) == whole.pieces(whole.encode(text))
        assert [fewer.rows[number] for number in range(EOS + 1)] == [PAD, UNK, BOS, EOS]
        there = whole.pieces([row for row in fewer.rows if row is not None])
        assert small.pieces(range(len(small))) == there
        assert set(small.pieces(small.encode(other))) <= set(there)

    def test_a_piece_that_is_left_out_is_split_again(self, kind: str) -> None:
        whole = WHOLE[kind]()
        (longest, *_) = sorted(whole.encode("the"), key=lambda one: -len(whole.pieces([one])[0]))
        (left_out,) = whole.pieces([longest])
        there = whole.pieces(range(len(whole)))
        kept = {i for i, piece in enumerate(there) if left_out not in piece}  # nor merged from it
        small = limited_to(whole, kept).vocabulary
        assert left_out not in small.pieces(range(len(small)))
        assert left_out not in small.pieces(small.encode("the"))
        as_one = limited_to(whole, kept, unknown={left_out}).vocabulary
        assert UNK in as_one.encode("the")

    def test_a_list_is_saved_and_limited_again(self, kind: str, tmp_path: Path) -> None:
        whole = WHOLE[kind]()
        fewer = limited_to(whole, set(whole.encode("the old fox"))).vocabulary
        fewer.save(tmp_path / "v.pieces")
        again = load_vocabulary(tmp_path / "v.pieces")
        assert again.encode("the old") == fewer.encode("the old")
        fewest = limited_to(again, set(again.encode("the"))).vocabulary
        assert fewest.pieces(fewest.encode("the")) == whole.pieces(whole.encode("the"))
        assert len(fewest) < len(again) < len(whole)
