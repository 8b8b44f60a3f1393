"""Text in one language, and synthetic pairs: what training gets of them."""

from __future__ import annotations

import gzip
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, DataError, SavedError
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.search import SamplingConfig
from dragoman.techniques.backtranslation import monolingual
from dragoman.techniques.backtranslation.backtranslation_config import BackTranslationConfig
from dragoman.techniques.backtranslation.monolingual import (
    ChosenLines,
    choose_lines,
    take,
)
from dragoman.techniques.backtranslation.parts import count_real_pairs, with_synthetic
from dragoman.techniques.backtranslation.reversal import reversed_recipe
from dragoman.techniques.backtranslation.rounds import filter_pairs
from dragoman.techniques.backtranslation.selection_reports import (
    PairReport,
    TextReport,
    read_report,
)
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.formats import Pair


@pytest.fixture(scope="module")
def recipe(config: Path) -> ExperimentConfig:
    return read_experiment(config)


def numbered(lines: Sequence[str]) -> list[Pair]:
    return [Pair("", line, number) for number, line in enumerate(lines, 1)]


def settings(**values: Any) -> BackTranslationConfig:
    return parse(BackTranslationConfig, {"monolingual": "/mono.de", **values}, "settings")


class TestChosenLines:
    @given(
        total=st.integers(0, 40),
        share=st.floats(0, 1),
        choice=st.sampled_from(["random", "first"]),
        seed=st.integers(0, 99),
    )
    def test_are_as_many_as_wanted_and_in_order(
        self, total: int, share: float, choice: Literal["random", "first"], seed: int
    ) -> None:
        lines, wanted = numbered([str(number) for number in range(total)]), int(share * total)
        found = list(take(lines, total, wanted, choice, seed))
        assert len(found) == wanted
        assert [one.line for one in found] == sorted({one.line for one in found})
        assert found == list(take(lines, total, wanted, choice, seed))
        if choice == "first":
            assert found == lines[:wanted]

    def test_every_line_has_the_same_chance(self) -> None:
        lines, times = numbered(["x"] * 10), [0] * 10
        for seed in range(2000):
            for one in take(lines, 10, 3, "random", seed):
                times[one.line - 1] += 1
        assert all(520 < count < 680 for count in times)  # 600 each, four standard deviations

    def test_leave_out_what_is_unfit(self, recipe: ExperimentConfig, tmp_path: Path) -> None:
        held_out = next(read_pairs(recipe.test_sets()["news"])).target
        lines = ["eins", "", "zwei", "eins", held_out, "x" * 3000, "drei"]
        output = tmp_path / "target.jsonl.gz"
        options: dict[str, Any] = {"limit": None, "choice": "random", "seed": 1}
        report = choose_lines(numbered(lines), "mono", recipe, output, **options)
        found = [(line.number, line.text) for line in ChosenLines(output)]
        assert found == [(1, "eins"), (3, "zwei"), (7, "drei")]
        dropped = {"empty": 1, "duplicate": 1, "held out": 1, "too long": 1}
        assert (report.read, report.fit, report.chosen, report.dropped) == (7, 3, 3, dropped)
        assert read_report(output, TextReport) == report
        options["limit"] = 2
        choose_lines(numbered(lines), "mono", recipe, output, **options)
        assert len(list(ChosenLines(output))) == 2

    def test_leave_out_what_is_never_trained_on(
        self, recipe: ExperimentConfig, tmp_path: Path
    ) -> None:
        more = tmp_path / "more.de"
        more.write_text("Noch ein Satz.\n", encoding="utf-8")
        plain = recipe.model_dump(mode="json")
        plain["data"]["held_out"] = [{"target": str(more)}]
        wider = parse(ExperimentConfig, plain, "wider")
        output, lines = tmp_path / "target.jsonl", numbered(["eins", "noch ein satz."])
        report = choose_lines(lines, "mono", wider, output, limit=None, choice="first", seed=1)
        assert [line.text for line in ChosenLines(output)] == ["eins"]
        assert report.dropped == {"held out": 1}

    def test_may_be_none(self, recipe: ExperimentConfig, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"mono: no line is fit .* \(dropped: empty 2\)"):
            choose_lines(
                numbered(["", " "]),
                "mono",
                recipe,
                tmp_path / "t.jsonl",
                limit=None,
                choice="first",
                seed=1,
            )

    def test_have_the_case_of_all_real_targets(
        self, recipe: ExperimentConfig, tmp_path: Path
    ) -> None:
        upper = [{"kind": "case", "to": "upper", "sides": "target"}, {"kind": "noise"}]
        cased = changed(recipe, transforms=upper)
        output = tmp_path / "target.jsonl"
        choose_lines(
            numbered(["ein Haus"]), "mono", cased, output, limit=None, choice="first", seed=1
        )
        assert [line.text for line in ChosenLines(output)] == ["EIN HAUS"]

    def test_whose_language_cannot_be_told_are_said_to_be_unjudged(
        self,
        recipe: ExperimentConfig,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        reason = "'py3langid' is not installed"
        monkeypatch.setattr(monolingual, "wrong_language_share", lambda *_: None)
        monkeypatch.setattr(monolingual, "why_not_judged", lambda _: reason)
        lines, output = numbered(["one", "two"]), tmp_path / "target.jsonl"
        choose_lines(lines, "mono", recipe, output, limit=None, choice="first", seed=1)
        assert caplog.messages == [f"mono: its language is not judged: {reason}"]

    @pytest.mark.parametrize(("share", "warned"), [(0.4, True), (0.01, False), (None, False)])
    def test_in_another_language_are_warned_about(
        self,
        share: float | None,
        warned: bool,
        recipe: ExperimentConfig,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        asked: list[tuple[list[str], str]] = []

        def measure(lines: Any, language: str) -> float | None:
            asked.append((list(lines), language))
            return share

        monkeypatch.setattr(monolingual, "wrong_language_share", measure)
        output = tmp_path / "target.jsonl"
        with caplog.at_level(logging.WARNING):
            report = choose_lines(
                numbered(["one", "two"]), "mono", recipe, output, limit=None, choice="first", seed=1
            )
        assert asked == [(["one", "two"], "de")]
        assert report.wrong_language == share
        assert ("mono: 40 % of its lines are not in de" in caplog.text) == warned


def changed(recipe: ExperimentConfig, **values: Any) -> ExperimentConfig:
    """The recipe with other values of its training part."""
    plain = recipe.model_dump(mode="json")
    plain["data"]["train"] = [plain["data"]["train"][0] | values]
    for part in (plain["data"]["dev"], plain["data"]["test"]["news"]):
        part |= {key: value for key, value in values.items() if key == "tags"}
    return parse(ExperimentConfig, plain, "changed")


class TestFilters:
    @pytest.fixture
    def corpus(self, tmp_path: Path) -> Path:
        """Seven pairs, of which two are unfit."""
        path = tmp_path / "made" / "pairs.jsonl.gz"
        path.parent.mkdir()
        rows = [
            *({"source": f"s {n}", "target": f"t {n}", "score": -n, "line": n} for n in range(5)),
            {"source": "same words on both", "target": "same words on both", "score": 0},
            {"source": "x" * 100, "target": "t", "score": 0},
        ]
        with gzip.open(path, "wt", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in rows)
        return path

    def rows(self, path: Path) -> list[dict[str, Any]]:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            return [json.loads(line) for line in stream]

    @pytest.mark.parametrize(
        ("worst", "limit", "kept"),
        [(0.0, None, 5), (0.4, None, 3), (0.0, 2, 2), (0.4, 4, 3), (0.2, 9, 4)],
    )
    def test_keep_the_best_with_their_origin(
        self,
        worst: float,
        limit: int | None,
        kept: int,
        corpus: Path,
        recipe: ExperimentConfig,
        tmp_path: Path,
    ) -> None:
        output = tmp_path / "pairs.jsonl.gz"
        report = filter_pairs(corpus, recipe, output, drop_worst=worst, limit=limit)
        assert self.rows(output) == self.rows(corpus)[:kept]
        assert report.dropped.get("low score", 0) == 5 - kept
        assert (report.read, report.kept) == (7, kept)
        assert report.dropped["identical sides"] == report.dropped["length ratio"] == 1
        assert read_report(output, PairReport) == report

    def test_a_share_is_the_decimal_fraction_that_was_meant(
        self, corpus: Path, recipe: ExperimentConfig, tmp_path: Path
    ) -> None:
        """0.29 of 100 are 29, though 0.29 * 100 is less in binary."""
        with gzip.open(corpus, "wt", encoding="utf-8") as stream:
            for n in range(100):
                row = {"source": f"one {n}", "target": f"eins {n}", "score": n}
                stream.write(json.dumps(row) + "\n")
        output = tmp_path / "pairs.jsonl.gz"
        report = filter_pairs(corpus, recipe, output, drop_worst=0.29, limit=None)
        assert (report.kept, report.dropped["low score"]) == (71, 29)
        assert settings(ratio=0.29).pairs_limit(100) == 29

    def test_may_leave_nothing(
        self, corpus: Path, recipe: ExperimentConfig, tmp_path: Path
    ) -> None:
        with gzip.open(corpus, "wt", encoding="utf-8") as stream:
            stream.write(json.dumps({"source": "x" * 99, "target": "t", "score": 0}) + "\n")
        with pytest.raises(DataError, match=r"0 of 1 synthetic pairs are kept .*; train a better"):
            filter_pairs(corpus, recipe, tmp_path / "p.jsonl.gz", drop_worst=0, limit=None)

    def test_a_damaged_report_is_named(self, corpus: Path) -> None:
        corpus.with_name("pairs.json").write_text("[", encoding="utf-8")
        with pytest.raises(SavedError, match=r"pairs\.json: damaged; remove it"):
            read_report(corpus, PairReport)


class TestSyntheticPart:
    def test_is_added_and_all_else_stays(self, recipe: ExperimentConfig) -> None:
        found = with_synthetic(recipe, Path("/pairs.jsonl.gz"), settings())
        *real, synthetic = found.data.train
        assert tuple(real) == recipe.data.train
        assert found.model_dump(exclude={"data"}) == recipe.model_dump(exclude={"data"})
        assert (synthetic.path, synthetic.source, synthetic.target) == (
            "/pairs.jsonl.gz",
            "source",
            "target",
        )
        assert (synthetic.direction.name, synthetic.transforms) == ("en-de", ())

    def test_has_tag_and_noise_as_asked_and_the_tags_of_real_pairs(
        self, recipe: ExperimentConfig
    ) -> None:
        real = changed(recipe, tags=["<ui>"], transforms=[{"kind": "tag", "tags": ["<x>"]}])
        asked = settings(tag=True, method="noised-beam", upsample=2)
        found = with_synthetic(real, Path("/pairs.jsonl.gz"), asked)
        assert [part.weight for part in found.data.train] == [2, 1]
        synthetic = found.data.train[1]
        assert list(synthetic.symbols()) == ["<ui>", "<x>", "<BT>", "<mask>"]
        tag, noise = synthetic.transforms
        assert noise.model_dump(exclude={"kind", "mask_symbol", "share"}) == {
            "drop": 0.1,
            "mask": 0.1,
            "window": 3,
            "from_epoch": 0,
        }
        assert tag.kind == "tag"

    def test_has_the_task_of_real_pairs(self, recipe: ExperimentConfig) -> None:
        found = with_synthetic(changed(recipe, task="pairs"), Path("/p.jsonl.gz"), settings())
        assert [part.task for part in found.data.train] == ["pairs", "pairs"]
        one = changed(recipe, task="pairs").data.train[0]
        data = recipe.data.model_copy(update={"train": (one, *recipe.data.train)})
        several = recipe.model_copy(update={"data": data})
        with pytest.raises(ConfigError, match="have the tasks pairs, translation"):
            with_synthetic(several, Path("/p.jsonl.gz"), settings())

    def test_fits_the_reverse_recipe_too(self, recipe: ExperimentConfig) -> None:
        found = with_synthetic(reversed_recipe(recipe), Path("/p.jsonl.gz"), settings())
        assert [part.direction.name for part in found.train_parts()] == ["de-en", "de-en"]

    def test_real_pairs_are_counted_after_cleaning(
        self, recipe: ExperimentConfig, text: Path
    ) -> None:
        lines = (text / "train.tsv").read_text(encoding="utf-8").splitlines()
        assert count_real_pairs(recipe) <= len(lines) - 1
        twice = changed(recipe, transforms=[{"kind": "filter", "last_line": 11}])
        assert count_real_pairs(twice) == 10


class TestSettings:
    @pytest.mark.parametrize(
        ("method", "found"),
        [
            ("greedy", {"beam": 1, "nbest": 1}),
            ("beam", {"nbest": 1}),
            ("noised-beam", {"nbest": 1}),
        ],
    )
    def test_a_method_is_a_search(self, method: str, found: dict[str, Any]) -> None:
        assert settings(method=method).search(1) == found

    def test_drawing_differs_from_turn_to_turn(self) -> None:
        one, two = (settings(method="top-k", top_k=5, seed=3).search(turn) for turn in (1, 2))
        assert one["sampling"]["top_k"] == 5
        assert one["sampling"]["seed"] != two["sampling"]["seed"]
        whole = settings(method="sampling", seed=3).search(1)["sampling"]
        assert whole == {**SamplingConfig().model_dump(), "seed": 4}  # whatever the model has set

    @pytest.mark.parametrize(
        ("values", "problem"),
        [
            ({"ratio": 0}, "ratio: Input should be greater than 0"),
            ({"rounds": 0}, "rounds: Input should be greater than or equal to 1"),
            ({"top_k": 5}, "top_k: 5 is not read by method: beam"),
            ({"method": "greedy", "beam": 4}, "beam: 4 is not read by method: greedy"),
            ({"monolingual_source": "/mono.en"}, "monolingual_source is read from the second"),
            ({"reverse_model": "/a", "reverse_recipe": "/b"}, "exclude each other"),
        ],
    )
    def test_contradictions_are_named(self, values: dict[str, Any], problem: str) -> None:
        with pytest.raises(ConfigError, match=problem):
            settings(**values)
