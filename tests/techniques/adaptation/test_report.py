"""A language that a model did not know before has no score before in the report."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tiny_model import save_tiny_model

from dragoman.evaluation.metrics import score_corpus
from dragoman.recipe import read_experiment
from dragoman.techniques.adaptation.report import AdaptationReport, AdaptationScore, _scores
from dragoman.text.corpus import evaluation_pairs
from dragoman.text.corpus_part import CorpusPart
from dragoman.translation.translator import Translator

NEW = AdaptationScore("dev_ko", "domain", "en-ko", 60, "chrF2", None, 6.5, None, None)
KNOWN = AdaptationScore("dev_de", "general", "en-de", 60, "chrF2", 40.0, 39.5, (-1.0, 0.1), 0.2)


def test_a_new_set_shows_what_it_has_now_alone() -> None:
    assert NEW.difference is None and KNOWN.difference == -0.5
    assert NEW.cells()[4:] == ["-", "6.50", "-", "-", "-"]
    assert KNOWN.cells()[4:7] == ["40.00", "39.50", "-0.50"]


@pytest.mark.parametrize(
    ("ended", "remedy"),
    [("training.bounds", "a wider --may-lose"), ("training.max_steps: 9", "a higher training.sch")],
)
def test_what_to_change_where_nothing_was_gained(ended: str, remedy: str) -> None:
    outcome = AdaptationReport("model", 9, 0, ended, (KNOWN,)).outcome()
    assert ended in outcome and remedy in outcome


def test_a_model_between_two_says_how_far_it_is() -> None:
    report = AdaptationReport("model", 9, 9, "training.bounds", (KNOWN,), share=0.5)
    assert "The model is 50% of the way from what it was to step 9, the best" in report.outcome()
    values = report.to_json()
    assert AdaptationReport.from_json(values) == report
    del values["share"]  # as an earlier Dragoman wrote it
    assert AdaptationReport.from_json(values).share == 1


def test_a_report_with_a_new_set_is_read_as_it_was_written() -> None:
    report = AdaptationReport("model", 10, 8, "training.max_steps: 10", (NEW, KNOWN))
    values = report.to_json()
    assert [score["difference"] for score in values["scores"]] == [None, -0.5]
    assert AdaptationReport.from_json(values) == report
    assert "| dev_ko | en-ko | 60 | chrF2 | - | 6.50 | - | - | - |" in report.markdown()


class Told:
    """A translator that says what it is told to."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def translate_nbest(self, sources: list[str], nbest: int) -> list[list[Any]]:
        assert len(sources) == len(self.lines) and nbest == 1
        return [[SimpleNamespace(text=line)] for line in self.lines]


def test_a_line_that_only_the_old_model_refuses_is_empty_before(
    config: Path, tmp_path: Path
) -> None:
    """A vocabulary that was extended spells a script in fewer pieces."""
    (tmp_path / "dev.tsv").write_text("en\tde\na b c d e a b c\ta b\n", encoding="utf-8")
    part = CorpusPart(path=str(tmp_path / "dev.tsv"), source="en", target="de")
    experiment: Any = SimpleNamespace(config=read_experiment(config))
    host: Any = SimpleNamespace(counting=lambda *_: nullcontext(lambda _: None))
    old = save_tiny_model(tmp_path / "old", max_source_pieces=7)
    new = save_tiny_model(tmp_path / "new", minimum_length=5)
    with Translator.load(old, device="cpu") as before, Translator.load(new, device="cpu") as after:
        output = after.translate(["a b c d e a b c"])
        found = list(_scores(experiment, "dev", part, [before, after], host, is_new=False))
    assert output != [""]
    wanted = score_corpus(output, [["a b"]])
    assert [(one.before, one.after) for one in found] == [(0, score.value) for score in wanted]


def test_intervals_and_p_values_are_of_what_was_gained(config: Path) -> None:
    """The old model repeats the source; the new one is right in all lines but every third."""
    given = read_experiment(config)
    (part,) = given.dev_sets().values()
    pairs = list(evaluation_pairs(part))
    old = [pair.source for pair in pairs]
    new = [pair.target if pair.line % 3 else pair.source for pair in pairs]
    experiment: Any = SimpleNamespace(config=given)
    host: Any = SimpleNamespace(counting=lambda *_: nullcontext(lambda _: None))
    models: Any = [Told(old), Told(new)]
    found = list(_scores(experiment, "dev", part, models, host, is_new=False))
    assert [score.metric for score in found] == ["BLEU", "chrF2"]
    for score in found:
        assert score.difference is not None and score.interval is not None
        low, high = score.interval
        assert 20 < low < score.difference < high < 100
        assert score.p_value is not None and score.p_value < 0.01
    turned: Any = [Told(new), Told(old)]
    for one, back in zip(
        found, _scores(experiment, "dev", part, turned, host, is_new=False), strict=True
    ):
        assert (back.before, back.after) == (one.after, one.before)
        assert back.interval is not None and max(back.interval) < 0
