"""A language that a model did not know before has no score before in the report."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tiny_model import save_tiny_model

from dragoman.evaluation.metrics import score_corpus
from dragoman.experiment import Experiment
from dragoman.recipe import read_experiment
from dragoman.techniques.adaptation.report import (
    AdaptationReport,
    AdaptationScore,
    _scores,
    measure,
    unlearned,
)
from dragoman.text.corpora.corpus import evaluation_pairs
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.training.bounds import Watched
from dragoman.training.checkpoint import Progress
from dragoman.training.warm_start import StartConfig
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


def test_a_vocabulary_that_was_extended_is_another_model_in_any_case() -> None:
    report = AdaptationReport("model", 9, 0, "training.max_steps: 9", (KNOWN,), extended=True)
    assert report.adapted
    assert "the one that it began with, with the vocabulary extended. Give" in report.outcome()
    outside = replace(report, within=False)
    assert outside.outcome() == (
        "No step of 9 was within the bound (ended by training.max_steps: 9): the model is the one "
        "that it began with, with the vocabulary extended, which alone costs more than the bound "
        "allows. Give --vocabulary keep or a wider --may-lose"
    )
    assert AdaptationReport.from_json(outside.to_json()) == outside


@pytest.mark.parametrize(("vocabulary", "models"), [("keep", 1), ("extend", 2)])
def test_where_no_step_is_kept_an_extended_model_is_measured_itself(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vocabulary: str, models: int
) -> None:
    given = read_experiment(config)
    start = StartConfig(model="other", vocabulary=vocabulary)
    training = given.training.model_copy(update={"start_from": start})
    experiment: Any = SimpleNamespace(
        config=given.model_copy(update={"training": training}), run=tmp_path
    )
    measured: list[int] = []

    def scores(*arguments: Any, **_: Any) -> list[AdaptationScore]:
        measured.append(len(arguments[3]))
        return [KNOWN]

    where = "dragoman.techniques.adaptation.report"
    for name, value in (("_scores", scores), ("read_share", lambda _: None)):
        monkeypatch.setattr(f"{where}.{name}", value)
    monkeypatch.setattr(f"{where}.Translator.load", lambda *_, **__: nullcontext())
    monkeypatch.setattr(f"{where}._tags_of", lambda _: [])
    progress = Progress(step=9, watched=Watched({"general": 50.0}, {"general": 40.0}))
    host: Any = None
    report = measure(tmp_path, experiment, progress, (), host)
    assert set(measured) == {models}
    assert (report.kept_step, report.extended) == (0, models == 2)


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
    (tmp_path / "dev.tsv").write_text("en\tde\na b c d e a b c\ta b b a\n", encoding="utf-8")
    part = CorpusPart(path=str(tmp_path / "dev.tsv"), source="en", target="de")
    experiment: Any = SimpleNamespace(config=read_experiment(config))
    host: Any = SimpleNamespace(counting=lambda *_: nullcontext(lambda _: None))
    old = save_tiny_model(tmp_path / "old", max_source_pieces=7)
    new = save_tiny_model(tmp_path / "new", minimum_length=5)
    with Translator.load(old, device="cpu") as before, Translator.load(new, device="cpu") as after:
        output = after.translate(["a b c d e a b c"])
        found = list(_scores(experiment, "dev", part, [before, after], host, is_new=False))
    assert output != [""]
    wanted = score_corpus(output, [["a b b a"]])
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


@pytest.mark.parametrize(
    ("references", "metrics", "shown"),
    [
        (["Speichern", "Weitere Optionen"], ["bleu", "chrf"], ["chrF2"]),
        (["Speichern", "Weitere Optionen ein ."], ["bleu", "chrf"], ["BLEU", "chrF2"]),
        (["Speichern!", "Los, los!"], ["bleu", "chrf"], ["BLEU", "chrF2"]),
        (["Speichern"], ["exact_match", "bleu", "degenerate", "ter"], ["exact_match", "TER"]),
    ],
)
def test_bleu_is_shown_only_where_it_can_be_more_than_0(
    config: Path, tmp_path: Path, references: list[str], metrics: list[str], shown: list[str]
) -> None:
    """The third has four tokens in one line, since signs count."""
    lines = "".join(f"{n}\t{reference}\n" for n, reference in enumerate(references))
    (tmp_path / "dev.tsv").write_text(f"en\tde\n{lines}", encoding="utf-8")
    part = CorpusPart(path=str(tmp_path / "dev.tsv"), source="en", target="de")
    run = read_experiment(config)
    evaluation = run.evaluation.model_copy(update={"metrics": tuple(metrics)})
    run = run.model_copy(update={"evaluation": evaluation})
    host: Any = SimpleNamespace(counting=lambda *_: nullcontext(lambda _: None))
    models: Any = [Told(["falsch"] * len(references)), Told(references)]
    experiment: Any = SimpleNamespace(config=run)
    found = list(_scores(experiment, "dev", part, models, host, is_new=False))
    assert [score.metric for score in found] == shown
    for score in found:
        assert score.after == (0 if score.metric == "TER" else pytest.approx(100))


def test_pairs_that_were_not_learned_from_are_told_with_the_reason(
    config: Path, tmp_path: Path
) -> None:
    """Those of general text are not."""
    given = read_experiment(config)
    (held_out, *_) = evaluation_pairs(next(iter(given.dev_sets().values())))
    pairs = [("A", "B"), ("a", "c"), ("A", "B"), (held_out.source, "D"), ("E" * 70, "F")]
    text = "".join(map("{0[0]}\t{0[1]}\n".format, pairs))
    (tmp_path / "domain.tsv").write_text(f"en\tde\n{text}", encoding="utf-8")
    (general,) = given.data.train
    domain = CorpusPart(path=str(tmp_path / "domain.tsv"), source="en", target="de")
    parts = (domain, general.model_copy(update={"task": "replay"}))

    def notes(name: str, **cleaning: bool) -> list[str]:
        changed = given.data.cleaning.model_copy(update=cleaning)
        data = given.data.model_copy(update={"train": parts, "cleaning": changed, "processes": 1})
        experiment = Experiment.create(given.model_copy(update={"data": data}), tmp_path / name)
        assert list(unlearned(experiment)) == [], "nothing is prepared"
        experiment.prepare()
        return list(unlearned(experiment))

    (note,) = notes("dropped")
    lost, kept = notes("kept", keep_held_out=True)
    assert note == (
        "3 of 5 in-domain pairs were not learned from: 1 repeating an earlier one, 1 held out (a "
        "side of them is in a dev or test set), 1 length ratio"
    )
    assert lost.startswith("2 of 5 in-domain pairs were not learned from: 1 repeating")
    assert kept.startswith("1 of 5 in-domain pairs were learned from although a side of them is in")
