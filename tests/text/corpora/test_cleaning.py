"""Cleaning: one form for every string, the unfit left out, and all of it reported."""

from __future__ import annotations

import json
import sqlite3
import tracemalloc
import unicodedata
from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, StorageError
from dragoman.text.corpora.cleaning import (
    CleaningConfig,
    CleaningReport,
    clean,
    held_out_keys,
    normalize,
)
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.formats import Pair
from dragoman.text.public_corpora import corpora_folder

DATA = corpora_folder()
KEEP_ALL = CleaningConfig(
    max_characters=None, max_length_ratio=None, min_identical_words=None, drop_duplicates=False
)

any_text = st.text()  # half surrogates too


def pairs(*sides: tuple[str, str]) -> list[Pair]:
    return [Pair(source, target, line) for line, (source, target) in enumerate(sides, 1)]


def kept(config: CleaningConfig, *sides: tuple[str, str]) -> list[int]:
    return [pair.line for pair in clean(pairs(*sides), config, CleaningReport())]


def dropped(config: CleaningConfig, *sides: tuple[str, str]) -> dict[str, list[int]]:
    report = CleaningReport()
    list(clean(pairs(*sides), config, report, part="p"))
    return {reason: found.lines for reason, found in report.part("p").dropped.items()}


class TestNormalize:
    @given(any_text)
    def test_twice_is_once(self, text: str) -> None:
        assert normalize(normalize(text)) == normalize(text)

    @given(any_text)
    def test_the_result_is_composed_printable_as_utf8_and_has_single_spaces(
        self, text: str
    ) -> None:
        result = normalize(text)
        result.encode("utf-8")
        assert unicodedata.is_normalized("NFC", result)
        assert not any(unicodedata.category(character) == "Cc" for character in result)
        assert [c for c in result if c.isspace()] == [" "] * result.count(" ")
        assert "  " not in result
        assert result == result.strip()

    @given(st.text(st.characters(categories=["L", "N", "P", "S"])))
    def test_letters_digits_and_signs_only_compose(self, text: str) -> None:
        assert normalize(text) == unicodedata.normalize("NFC", text)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("  a \t b\u00a0\u3000c\u2028d\u0085e\n", "a b c d e"),
            ("e\u0301", "é"),
            ("e\x00\u0301", "é"),
            ("\ufeffa\u0007b\x9f", "ab"),
            ("\u1100\u1161", "가"),
            ("می\u200cخواهم", "می\u200cخواهم"),
            ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
            ("ﬁ ① Ａ", "ﬁ ① Ａ"),
            ("a\ud800b", "ab"),
            ("", ""),
        ],
    )
    def test_examples(self, text: str, expected: str) -> None:
        assert normalize(text) == expected


class TestFilters:
    def test_empty_sides(self) -> None:
        sides = [("", "b"), ("a", " \u200a\x07"), ("", ""), ("a", "b")]
        assert dropped(CleaningConfig(), *sides) == {"empty": [1, 2, 3]}
        assert kept(CleaningConfig(), *sides) == [4]

    def test_without_sources_only_targets_are_judged(self) -> None:
        texts = ["", "a", "b" * 2001, "Satz " * 100, "a", "c"]
        pairs = [Pair("", text, number) for number, text in enumerate(texts, 1)]
        report = CleaningReport()
        found = clean(pairs, CleaningConfig(), report, has_source=False)
        assert [pair.line for pair in found] == [2, 4, 6]
        (of_part,) = report.parts.values()
        assert {reason: found.lines for reason, found in of_part.dropped.items()} == {
            "empty": [1],
            "too long": [3],
            "duplicate": [5],
        }

    def test_too_long_counts_characters_of_either_side(self) -> None:
        config = CleaningConfig(max_characters=5, max_length_ratio=None)
        sides = [
            ("äbcde", "a"),
            ("abcdef", "a"),
            ("a", "abcdef"),
            ("  abc   de  ", "a"),
            (" abc  d ", "a"),
        ]
        assert dropped(config, *sides) == {"too long": [2, 3, 4]}

    def test_a_line_of_100_000_characters_is_dropped_by_default(self) -> None:
        assert dropped(CleaningConfig(), ("a" * 100_000, "b" * 100_000)) == {"too long": [1]}

    def test_the_length_ratio_spares_short_texts(self) -> None:
        config = CleaningConfig(max_length_ratio=3)
        sides = [
            ("x" * 30, "y"),  # the short side counts as 10
            ("x" * 31, "y"),
            ("y", "x" * 31),
            ("x" * 60, "y" * 20),
            ("x" * 61, "y" * 20),
        ]
        assert dropped(config, *sides) == {"length ratio": [2, 3, 5]}

    def test_identical_sides_of_enough_words(self) -> None:
        sides = [("Angela Merkel", "Angela Merkel"), ("not at all translated",) * 2, ("a", "b")]
        config = CleaningConfig(min_identical_words=3)
        assert dropped(config, *sides) == {"identical sides": [2]}
        assert dropped(CleaningConfig(min_identical_words=1), *sides) == {"identical sides": [1, 2]}

    @pytest.mark.parametrize(
        ("config", "fewest"), [(CleaningConfig(min_identical_words=2), 2), (CleaningConfig(), 4)]
    )
    def test_identical_sides_are_dropped_from_just_so_many_words_on(
        self, config: CleaningConfig, fewest: int
    ) -> None:
        sides = [(" ".join(["word"] * count),) * 2 for count in range(1, 7)]
        assert dropped(config, *sides) == {"identical sides": list(range(fewest, 7))}

    def test_duplicates_are_pairs_alike_on_both_sides_after_normalizing(self) -> None:
        sides = [("a", "b"), ("a", "c"), ("A", "b"), (" a\u00a0", "b"), ("b", "a"), ("a", "b")]
        assert dropped(CleaningConfig(), *sides) == {"duplicate": [4, 6]}

    def test_a_pair_is_its_sides_not_their_join(self) -> None:
        assert kept(CleaningConfig(), ("a b", "c"), ("a", "b c"), ("a\nb", "d")) == [1, 2, 3]

    def test_scripts(self) -> None:
        config = CleaningConfig(source_scripts=("Latin",), target_scripts=("Hangul",))
        sides = [
            ("Hello", "안녕하세요"),
            ("Hello", "Hello there"),
            ("Привет", "안녕하세요"),
            ("Python 3", "Python 프로그램"),  # 4 of 10 letters
            ("USB port", "USB 포트를 씁니다"),
            ("42%", "42%"),
            ("Seoul", "서울 (首爾)"),
        ]
        assert dropped(config, *sides) == {"wrong script": [2, 3, 4]}

    def test_a_language_may_need_several_scripts(self) -> None:
        config = CleaningConfig(target_scripts=("Han", "Hiragana", "Katakana"))
        sides = [("a", "東京タワーへ行く"), ("a", "コンピューター"), ("a", "Москва")]
        assert dropped(config, *sides) == {"wrong script": [3]}

    @pytest.mark.parametrize("script", ["Hangeul", "Latn]", "", "L}|.", "ko"])
    def test_an_unknown_script_is_a_config_error(self, script: str) -> None:
        with pytest.raises(ConfigError, match=r"source_scripts: .* is not a Unicode script"):
            parse(CleaningConfig, {"source_scripts": [script]}, "run.yaml")

    @given(st.lists(st.tuples(any_text, any_text)))
    def test_with_every_filter_off_only_empty_pairs_go(self, sides: list[tuple[str, str]]) -> None:
        expected = [line for line, (a, b) in enumerate(sides, 1) if normalize(a) and normalize(b)]
        assert kept(KEEP_ALL, *sides) == expected

    @given(st.lists(st.tuples(any_text, any_text)))
    def test_clean_text_is_normal_and_stays_when_cleaned_again(
        self, sides: list[tuple[str, str]]
    ) -> None:
        once = list(clean(pairs(*sides), CleaningConfig(), CleaningReport()))
        assert all(normalize(side) == side for pair in once for side in pair[:2])
        assert list(clean(once, CleaningConfig(), CleaningReport())) == once

    def test_control_characters_are_mended_and_noted(self) -> None:
        report = CleaningReport()
        given_pairs = pairs(("a\x00b", "c"), ("a\tb", "c"), ("d", "\ufeffe"))
        result = list(clean(given_pairs, CleaningConfig(), report, part="p"))
        assert [pair[:2] for pair in result] == [("ab", "c"), ("a b", "c"), ("d", "e")]
        assert report.part("p").noted["control characters removed"].lines == [1, 3]
        assert set(report.part("p").noted) == {"control characters removed"}

    def test_invisible_characters_are_removed_and_noted(self) -> None:
        report = CleaningReport()
        given_pairs = pairs(
            ("sev\u00aden", "c"), ("می\u200cخواهم", "d"), ("e", "\u200b"), ("f", "g\u200e")
        )
        result = list(clean(given_pairs, CleaningConfig(), report, part="p"))
        assert [pair[:2] for pair in result] == [("seven", "c"), ("می\u200cخواهم", "d"), ("f", "g")]
        assert report.part("p").noted["invisible characters removed"].lines == [1, 4]
        assert report.part("p").dropped["empty"].lines == [3]


class TestHeldOut:
    evaluation = held_out_keys(pairs(("A dog  runs.", "Ein Hund läuft."), ("", "Leer.")))

    def run(self, config: CleaningConfig, *sides: tuple[str, str]) -> CleaningReport:
        report = CleaningReport()
        self.result = list(clean(pairs(*sides), config, report, part="p", held_out=self.evaluation))
        return report

    def test_either_side_is_enough_whatever_its_case_and_composition(self) -> None:
        report = self.run(
            CleaningConfig(),
            ("a dog runs.", "x"),
            ("x", "EIN HUND LÄUFT."),
            ("x", "Ein Hund la\u0308uft."),
            ("Ein Hund läuft.", "A dog runs."),  # the other way round is no leak
            ("A dog.", "Ein Hund."),
            ("x", "Leer."),
        )
        assert report.part("p").dropped["held out"].lines == [1, 2, 3, 6]
        assert [pair.line for pair in self.result] == [4, 5]

    def test_an_empty_evaluation_side_matches_nothing(self) -> None:
        report = self.run(CleaningConfig(), ("", "x"))
        assert "held out" not in report.part("p").dropped

    def test_kept_when_asked_and_still_reported(self) -> None:
        report = self.run(CleaningConfig(keep_held_out=True), ("A dog runs.", "x"))
        assert report.part("p").noted["held out, kept"].lines == [1]
        assert report.kept == 1

    def test_a_duplicate_that_is_dropped_is_not_reported_as_kept(self) -> None:
        report = self.run(CleaningConfig(keep_held_out=True), *[("A dog runs.", "x")] * 3)
        assert report.part("p").noted["held out, kept"].lines == [1]
        assert report.part("p").dropped["duplicate"].lines == [2, 3]


class TestReport:
    def report(self) -> CleaningReport:
        report = CleaningReport()
        list(
            clean(
                pairs(*[("a", "")] * 7, ("a\x01", "b"), ("c", "d")),
                CleaningConfig(),
                report,
                part="first",
            )
        )
        list(clean(pairs(("a", "b"), ("a", "b")), CleaningConfig(), report, part="second"))
        return report

    def test_counts_add_up(self) -> None:
        report = self.report()
        assert (report.read, report.kept) == (11, 3)
        assert (report.dropped("empty"), report.dropped("duplicate")) == (7, 1)
        for part in report.parts.values():
            assert part.read == part.kept + sum(found.count for found in part.dropped.values())

    def test_the_first_five_lines_are_examples(self) -> None:
        found = self.report().part("first").dropped["empty"]
        assert (found.count, found.lines) == (7, [1, 2, 3, 4, 5])

    def test_json_and_back(self) -> None:
        report = self.report()
        assert CleaningReport.from_json(json.loads(json.dumps(report.to_json()))) == report

    def test_the_table_says_what_where_and_how_often(self) -> None:
        assert self.report().table().splitlines() == [
            "first: 9 pairs read, 2 kept",
            "          7  dropped, empty              lines 1, 2, 3, 4, 5, ...",
            "          1  control characters removed  lines 8",
            "second: 2 pairs read, 1 kept",
            "          1  dropped, duplicate          lines 2",
        ]

    def test_duplicates_are_looked_for_within_a_part(self) -> None:
        report = CleaningReport()
        for name in ("first", "second"):
            assert len(list(clean(pairs(("a", "b")), CleaningConfig(), report, part=name))) == 1


class TestScale:
    def test_memory_does_not_grow_with_the_corpus(self) -> None:
        def peak(count: int) -> int:
            stream = (Pair(f"source {n}", f"target {n}", n) for n in range(count))
            tracemalloc.start()
            assert sum(1 for _ in clean(stream, CleaningConfig(), CleaningReport())) == count
            highest = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return highest

        peak(20_000)  # what the first call alone keeps, if no test before this one has made it
        assert peak(20_000) < peak(2_000) + 100_000  # hashes alone would be 700,000 bytes more

    def test_cleaning_is_lazy(self) -> None:
        def stream() -> Iterator[Pair]:
            yield Pair("a", "b", 1)
            raise AssertionError("read ahead")

        assert next(clean(stream(), CleaningConfig(), CleaningReport())).line == 1

    def test_a_full_temporary_disk_is_told_with_remedies(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Full:
            def execute(self, statement: str, *_: object) -> None:
                if statement.startswith("INSERT"):
                    raise sqlite3.OperationalError("database or disk is full")

            def close(self) -> None:
                pass

        monkeypatch.setattr("sqlite3.connect", lambda *_, **__: Full())
        with pytest.raises(StorageError, match="disk is full; free some space, set TMPDIR"):
            list(clean(pairs(("a", "b")), CleaningConfig(), CleaningReport()))


@pytest.mark.skipif(not (DATA / "multi30k").is_dir(), reason="Multi30k is not there")
def test_the_defaults_leave_multi30k_as_it_is_but_for_leaks_and_duplicates() -> None:
    def part(name: str) -> CorpusPart:
        files = {side: str(DATA / "multi30k" / f"{name}.{side}.gz") for side in ("en", "de")}
        return CorpusPart(source=files["en"], target=files["de"])

    report = CleaningReport()
    evaluation = chain.from_iterable(
        read_pairs(part(name)) for name in ("val", "test_2016_flickr", "test_2017_flickr")
    )
    held_out = held_out_keys(evaluation)
    train = clean(read_pairs(part("train")), CleaningConfig(), report, held_out=held_out)
    assert sum(1 for _ in train) > 28_980
    assert set(report.part("corpus").dropped) <= {"held out", "duplicate"}
