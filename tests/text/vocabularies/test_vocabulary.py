"""Vocabularies: text survives them, files prove whole, and bounds are told in one line."""

from __future__ import annotations

import pickle
import random
import re
import threading
from pathlib import Path

import pytest
import sentencepiece
from drawn_pieces import drawn
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from trained_vocabularies import (
    ENGLISH,
    GERMAN,
    KINDS,
    TRAINED,
    byte_vocabularies,
    corpus,
    train,
    vocabularies,
)

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, DataError, SavedError
from dragoman.text.corpora.cleaning import normalize
from dragoman.text.vocabularies import (
    BOS,
    EOS,
    PAD,
    UNK,
    Vocabularies,
    Vocabulary,
    VocabularyConfig,
    is_empty,
    load_vocabulary,
    prepare_line,
)
from dragoman.text.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

covered_text = st.text([*sorted(set("".join(ENGLISH + GERMAN))), " ", "\t", "\xa0"])


class TestEncoding:
    @vocabularies
    @given(text=covered_text)
    def test_covered_text_comes_back(self, vocabulary: Vocabulary, text: str) -> None:
        assert vocabulary.decode(vocabulary.encode(text)) == normalize(text)

    @byte_vocabularies
    @given(text=st.text())
    def test_with_bytes_any_text_comes_back(self, vocabulary: Vocabulary, text: str) -> None:
        assume("\u2581" not in text)
        ids = vocabulary.encode(text)
        assert UNK not in ids
        assert vocabulary.decode(ids) == normalize(text)

    @vocabularies
    @given(text=st.text())
    def test_ids_are_pieces_and_never_pad_begin_or_end(
        self, vocabulary: Vocabulary, text: str
    ) -> None:
        ids = vocabulary.encode(text)
        assert all(i == UNK or EOS < i < len(vocabulary) for i in ids)

    @vocabularies
    def test_sentencepiece_s_space_sign_is_read_as_a_space(self, vocabulary: Vocabulary) -> None:
        assert vocabulary.encode("\u2581the\u2581\u2581fox") == vocabulary.encode("the fox")

    @vocabularies
    def test_names_of_special_pieces_in_a_text_are_text(self, vocabulary: Vocabulary) -> None:
        for name in ("<pad>", "<s>", "</s>", "<unk>", "<0x41>"):
            assert not {PAD, BOS, EOS} & set(vocabulary.encode(f"the {name} fox"))
        assert "A" not in vocabulary.decode(vocabulary.encode("<0x41>"))

    @vocabularies
    def test_white_space_composition_and_controls_make_no_difference(
        self, vocabulary: Vocabulary
    ) -> None:
        expected = vocabulary.encode("über der Hund")
        assert vocabulary.encode(" u\u0308ber\u00a0 der\x07\u3000Hund\n") == expected

    @vocabularies
    def test_a_batch_is_its_texts_one_by_one(self, vocabulary: Vocabulary) -> None:
        texts = [pair.source for pair in corpus(50)] + ["", "日本"]
        one_by_one = [vocabulary.encode(text) for text in texts]
        assert vocabulary.encode_batch(texts) == one_by_one
        assert vocabulary.encode_batch(texts, threads=3) == one_by_one
        assert vocabulary.encode_batch([]) == []

    @vocabularies
    def test_special_ids_say_nothing_and_unknown_is_visible(self, vocabulary: Vocabulary) -> None:
        ids = vocabulary.encode("the fox")
        assert vocabulary.decode([BOS, *ids, EOS, PAD, PAD]) == "the fox"
        assert vocabulary.decode([PAD, BOS, EOS]) == ""
        assert vocabulary.decode([]) == ""
        assert "⁇" in vocabulary.decode([*ids, UNK])

    def test_an_unknown_character_keeps_its_neighbours(self) -> None:
        assert TRAINED[0].decode(TRAINED[0].encode("fo日x")) == "fo⁇x"

    @vocabularies
    def test_pieces_spell_the_text(self, vocabulary: Vocabulary) -> None:
        pieces = vocabulary.pieces(vocabulary.encode("the quick dog"))
        assert "".join(pieces) == "▁the▁quick▁dog"
        assert vocabulary.pieces([PAD, UNK, BOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]


@given(text=st.text("a\u0301 \t\x00\x1a\x1c\x85\u2003\u2581\ufeff\ud800\u200d", max_size=3))
def test_a_text_that_nothing_is_left_of_is_empty(text: str) -> None:
    assert is_empty(text) == (not prepare_line(text))


class TestSampling:
    texts = tuple(pair.source for pair in corpus(20))

    @vocabularies
    def test_the_seed_decides(self, vocabulary: Vocabulary) -> None:
        first = drawn(vocabulary, self.texts, 0.3, seed=5)
        again = drawn(vocabulary, self.texts, 0.3, seed=5)
        other = drawn(vocabulary, self.texts, 0.3, seed=6)
        assert first == again
        assert first != other

    @vocabularies
    def test_no_call_before_and_no_thread_beside_changes_it(self, vocabulary: Vocabulary) -> None:
        expected = drawn(vocabulary, self.texts, 0.3, seed=5)
        found: list[list[list[int]]] = []

        def sample() -> None:
            for _ in range(5):
                drawn(vocabulary, self.texts[::-1], 0.3, seed=random.randrange(99))
                found.append(drawn(vocabulary, self.texts, 0.3, seed=5))

        threads = [threading.Thread(target=sample) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [expected] * 20

    @vocabularies
    @given(seed=st.integers(min_value=0, max_value=2**70))
    @settings(max_examples=20)
    def test_samples_spell_the_same_text(self, vocabulary: Vocabulary, seed: int) -> None:
        sampled = drawn(vocabulary, self.texts, 0.3, seed=seed)
        assert [vocabulary.decode(ids) for ids in sampled] == list(self.texts)


class TestTraining:
    def test_the_same_corpus_gives_the_same_files(self) -> None:
        for config, trained in zip(KINDS, TRAINED, strict=True):
            assert train(config).fingerprint == trained.fingerprint

    def test_sizes_and_special_ids_are_as_configured(self) -> None:
        for config, vocabulary in zip(KINDS, TRAINED, strict=True):
            assert len(vocabulary) == config.size

    def test_separate_sides_see_their_own_text_only(self) -> None:
        trained = train_vocabularies(corpus(), VocabularyConfig(size=60, joint=False), seed=1)
        assert not trained.joint
        assert UNK in trained.source.encode("ü")
        assert UNK in trained.target.encode("q")
        assert UNK not in trained.target.encode("ü")

    def test_joint_is_one_for_both(self) -> None:
        trained = train_vocabularies(corpus(), KINDS[0], seed=1)
        assert trained.joint
        assert trained.source is trained.target

    def test_a_large_corpus_is_sampled_by_the_seed(self) -> None:
        def trained(seed: int) -> str:
            config = VocabularyConfig(size=60, training_pairs=20)
            return train_vocabularies(iter(corpus(2000)), config, seed=seed).source.fingerprint

        assert trained(1) == trained(1)
        assert len({trained(seed) for seed in range(5)}) > 1

    def test_plain_pairs_of_strings_do(self) -> None:
        pairs = [(pair.source, pair.target) for pair in corpus()]
        assert train_vocabularies(pairs, KINDS[0], seed=1).source.fingerprint == (
            TRAINED[0].fingerprint
        )

    def test_training_says_nothing(self, capfd: pytest.CaptureFixture[str]) -> None:
        train(KINDS[1])
        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize("pairs", [[], [("", "")], [(" \u2028", "\x07")]])
    def test_no_text_is_a_data_error(self, pairs: list[tuple[str, str]]) -> None:
        with pytest.raises(DataError, match="no text to train a vocabulary on"):
            train_vocabularies(pairs, VocabularyConfig(), seed=1)

    def test_a_side_without_text_is_named(self) -> None:
        with pytest.raises(DataError, match="no target text"):
            train_vocabularies([("a b", "")], VocabularyConfig(size=7, joint=False), seed=1)

    @given(
        lines=st.lists(st.text("abcdeÄ 日本", min_size=1, max_size=30), min_size=1, max_size=8),
        kind=st.sampled_from(["bpe", "unigram"]),
        bytes_too=st.booleans(),
    )
    @settings(max_examples=25)
    def test_a_size_that_cannot_be_is_answered_with_one_that_can(
        self, lines: list[str], kind: str, bytes_too: bool
    ) -> None:
        assume(any(map(normalize, lines)))
        pairs = [(line, line) for line in lines]

        def attempt(size: int) -> str:
            config = VocabularyConfig(kind=kind, size=size, byte_fallback=bytes_too)
            try:
                assert len(train_vocabularies(pairs, config, seed=1).source) == size
            except ConfigError as error:
                return str(error)
            return ""

        for impossible, problem in ((5, "too small"), (3000, "larger than the text allows")):
            message = attempt(impossible)
            bound = re.search(
                rf"vocabulary\.size {impossible} is {problem}.* set it to (\d+)", message
            )
            if message or impossible == 3000:
                assert bound
                assert "\n" not in message
            # characters of an unigram model can be more than its bound, by one message each
            if bound and (again := attempt(int(bound[1]))):
                assert attempt(int(re.findall(r"set it to (\d+)", again)[0])) == ""

    def test_bounds_name_the_side_when_sides_are_separate(self) -> None:
        config = VocabularyConfig(size=5000, joint=False)
        with pytest.raises(ConfigError, match="larger than the source text allows"):
            train_vocabularies(corpus(), config, seed=1)

    def test_where_no_size_suits_both_sides_another_remedy_is_given(self) -> None:
        """One side needs more pieces than the other's text allows."""
        pairs = [("".join(map(chr, range(0x4E00, 0x4E00 + 60))), "a b")]
        another = r"; if no size .* vocabulary.joint: true or another vocabulary.kind$"
        for size, problem in (
            (50, "too small for the characters of the source"),
            (65, "larger than the target"),
        ):
            config = VocabularyConfig(kind="unigram", size=size, joint=False)
            with pytest.raises(ConfigError, match=f"{problem}.*{another}"):
                train_vocabularies(pairs, config, seed=1)
        with pytest.raises(ConfigError, match=r"set it to \d+ or less$"):
            train_vocabularies(pairs, VocabularyConfig(kind="unigram", size=900), seed=1)

    def test_normalization_folds_what_it_says(self) -> None:
        config = VocabularyConfig(size=80, normalization="nfkc_cf")
        vocabulary = train(config)
        assert vocabulary.decode(vocabulary.encode("Ｆｏｘ")) == "fox"

    @pytest.mark.parametrize("kind", ["bpe", "unigram"])
    def test_a_line_with_sentencepiece_s_reserved_character_is_learnt_from(self, kind: str) -> None:
        lines = ["a b c abc ab bc", "a\u2585ß c ßab ß", "\u2585"]
        config = VocabularyConfig(kind=kind, size=11)
        vocabulary = train_vocabularies([(line, line) for line in lines], config, seed=1).source
        assert UNK not in vocabulary.encode("aß")

    def test_a_very_long_line_is_learnt_from(self) -> None:
        line = " ".join(["unforgettable"] * 10_000)
        vocabulary = train_vocabularies([(line, line)], VocabularyConfig(size=20), seed=1).source
        assert UNK not in vocabulary.encode("unforgettable")

    @pytest.mark.parametrize(
        ("values", "problem"),
        [
            ({"size": 4}, "size: .*greater than 4"),
            ({"size": "many"}, "size: .*integer, .*'many'"),
            ({"kind": "word"}, "kind: .*'bpe' or 'unigram'"),
            ({"sampling": 1.0}, "sampling: .*less than 1"),
            ({"character_coverage": 0.5}, "character_coverage: .*greater than or equal to 0.98"),
        ],
    )
    def test_values_that_make_no_sense(self, values: dict[str, object], problem: str) -> None:
        with pytest.raises(ConfigError, match=problem):
            parse(VocabularyConfig, values, "run.yaml")


class TestSaving:
    @pytest.mark.parametrize("joint", [True, False])
    def test_what_is_saved_is_loaded(self, tmp_path: Path, joint: bool) -> None:
        trained = train_vocabularies(corpus(), VocabularyConfig(size=60, joint=joint), seed=1)
        trained.save(tmp_path)
        loaded = Vocabularies.load(tmp_path)
        assert loaded.joint is joint
        for before, after in zip(trained, loaded, strict=True):
            assert before.fingerprint == after.fingerprint
            assert after.encode("über the fox") == before.encode("über the fox")

    def test_the_last_save_is_the_one_that_counts(self, tmp_path: Path) -> None:
        for joint in (True, False, True):
            config = VocabularyConfig(size=60, joint=joint)
            train_vocabularies(corpus(), config, seed=1).save(tmp_path)
            assert Vocabularies.load(tmp_path).joint is joint
        assert [path.name for path in tmp_path.iterdir()] == ["vocabulary.model"]

    def test_other_programs_can_read_the_file(self, tmp_path: Path) -> None:
        TRAINED[0].save(tmp_path / "vocabulary.model")
        processor = sentencepiece.SentencePieceProcessor()
        processor.load(str(tmp_path / "vocabulary.model"))
        assert processor.encode("the fox") == TRAINED[0].encode("the fox")

    def test_a_file_cut_short_anywhere_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "vocabulary.model"
        TRAINED[0].save(path)
        whole = path.read_bytes()
        for length in range(0, len(whole), 7):
            path.write_bytes(whole[:length])
            with pytest.raises(SavedError, match=r"vocabulary\.model: .*truncated, altered"):
                load_vocabulary(path)

    @given(place=st.integers(min_value=0), bit=st.integers(0, 7))
    def test_a_file_with_any_bit_changed_is_refused(
        self, place: int, bit: int, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "vocabulary.model"
        TRAINED[0].save(path)
        content = bytearray(path.read_bytes())
        content[place % len(content)] ^= 1 << bit
        path.write_bytes(content)
        with pytest.raises(SavedError, match="truncated, altered"):
            load_vocabulary(path)

    def test_a_missing_one_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(SavedError, match=r"no vocabulary\.model here"):
            Vocabularies.load(tmp_path)
        TRAINED[0].save(tmp_path / "vocabulary.source.model")
        with pytest.raises(SavedError, match=r"vocabulary\.target\.model: no readable vocabulary"):
            Vocabularies.load(tmp_path)

    @pytest.mark.parametrize("model", [b"", b"garbage", b"\x00" * 100])
    def test_garbage_is_no_model(self, model: bytes) -> None:
        with pytest.raises(SavedError, match=r"not a sentencepiece model|of another kind"):
            SentencePieceVocabulary(model)

    def test_a_model_with_other_special_ids_is_of_another_kind(self, tmp_path: Path) -> None:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(pair.source for pair in corpus()),
            model_prefix=str(tmp_path / "foreign"),
            vocab_size=30,
            minloglevel=2,
        )
        with pytest.raises(SavedError, match=r"of another kind: .* \(-1, 0, 1, 2\), expected"):
            SentencePieceVocabulary((tmp_path / "foreign.model").read_bytes())

    def test_a_process_hands_it_to_another(self) -> None:
        copy = pickle.loads(pickle.dumps(TRAINED[0]))
        assert copy.fingerprint == TRAINED[0].fingerprint
        assert copy.encode("the fox") == TRAINED[0].encode("the fox")


def test_words_of_a_target_of_symbols_are_never_split() -> None:
    config = VocabularyConfig(size=30, joint=False, target_kind="word", tags=("<a>",))
    lines = [("the old dog barks", "(S (NP DT JJ NN )NP VBZ )S"), ("a dog", "(NP DT NN )NP")]
    source, target = train_vocabularies(lines * 3, config, seed=1)
    assert len(source) == 30
    assert len(target) == 4 + len(set(" ".join(line for _, line in lines).split()))
    symbols = lines[0][1].split()
    assert target.pieces(target.encode(lines[0][1])) == [f"▁{one}" for one in symbols]
    assert target.decode(target.encode(lines[0][1])) == lines[0][1]
    assert target.encode("(S new )S") == [*target.encode("(S"), UNK, *target.encode(")S")]
    many = drawn(target, [lines[0][1]] * 5, 0.5, seed=3)
    assert many == [target.encode(lines[0][1])] * 5


def test_a_kind_of_the_target_needs_a_vocabulary_of_its_own() -> None:
    with pytest.raises(ConfigError, match=r"target_kind .* set joint: false"):
        parse(VocabularyConfig, {"target_kind": "word"}, "vocabulary")
