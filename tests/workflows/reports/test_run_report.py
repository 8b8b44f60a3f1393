from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import cast

import pytest

from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.experiment import Experiment
from dragoman.run.finish_record import read_finish
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.formats import Pair
from dragoman.translation.translator import Translator
from dragoman.workflows.reports.figures import to_svg
from dragoman.workflows.reports.plots import demo_picture, learning_curves
from dragoman.workflows.reports.run_report import (
    Sample,
    Samples,
    draw_samples,
    flatten,
    sample_heat_map,
    translate_samples,
    write_report,
)
from dragoman.workflows.reports.training_curves import read_records

VOID = {"meta", "br"}


class Page(HTMLParser):
    """Checks that what is opened is closed, and collects what the page would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.loaded += [value or "" for name, value in attributes if name in {"src", "href"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.loaded += [value or "" for name, value in attributes if name in {"src", "href"}]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_is_one_whole_file(trained: Path) -> None:
    text = (trained / "report.html").read_text(encoding="utf-8")
    assert f"<pre>dragoman translate {trained} &lt; input.txt</pre>" in text
    page = Page(text)
    assert page.open == []
    assert page.loaded == []
    for said in ("en → de", "BLEU, news", "train.tsv", "training.max_steps"):
        assert said in text
    assert text.count("<svg") == 1
    assert ">Loss (nats per token)</text>" in text
    assert "20 of the 20 sentences of news" in text
    assert "of all 20 sentences of news, by chrF" in text
    samples, _, errors = text.partition("<h2>Errors")
    assert len(re.findall(r'<td dir="auto">|<td class="same">', samples)) == 3 * (20 + 10)
    (found,) = read_finish(trained)["errors"].values()
    examples = [one for kind in found["kinds"] for one in kind["examples"]]
    assert examples, "a model of a few steps makes errors"
    assert errors.count('<td dir="auto">') == 3 * len(examples)
    for kind in found["kinds"]:
        assert f"{kind['title']}: {kind['lines']} of {kind['of']} lines" in errors


def test_text_cannot_become_markup(trained: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    (tmp_path / "evil.tsv").write_text(
        "en\tde\n<script>alert(1)</script>\t<b>&amp;</b>\n", encoding="utf-8"
    )
    experiment = Experiment.open(run)
    part = experiment.config.data.test["news"].model_copy(
        update={"path": str(tmp_path / "evil.tsv")}
    )
    data = experiment.config.data.model_copy(update={"test": {"<i>": part}})
    config = experiment.config.model_copy(update={"data": data})
    text = write_report(Experiment(config, run)).read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "<i>" not in text
    assert "&lt;b&gt;&amp;amp;" in text


def test_a_heat_map_has_a_weight_for_each_pair_of_pieces(trained: Path) -> None:
    experiment, translator = Experiment.open(trained), Translator.load(trained)
    pairs = list(read_pairs(experiment.config.data.test["news"]))
    samples = [Sample(pair.source, pair.target, pair.target, 100.0) for pair in pairs]
    found = sample_heat_map(translator, samples)
    assert found is not None
    assert found.source[-1] == found.rows[-1][0] == "end"
    for _, weights in found.rows:
        assert len(weights) == len(found.source)
        assert sum(weights) == pytest.approx(1, abs=1e-4)


def test_no_heat_map_of_a_sentence_without_words(trained: Path) -> None:
    translator = Translator.load(trained)
    samples = translate_samples(translator, [Pair("", "", 1)], EvaluationConfig())
    assert sample_heat_map(translator, samples) is None


class Parrot:
    """Repeats its source, but for every seventh number, of which it drops the more the higher."""

    def translate(self, lines: list[str], progress: object = None) -> list[str]:
        return [line if int(line) % 7 else line[: -int(line) // 70] for line in lines]


class TestSamples:
    def drawn(self, experiment: Experiment, count: int) -> Samples:
        pairs = [Pair(f"{n:020}", f"{n:020}", n) for n in range(1, count + 1)]
        return draw_samples(cast(Translator, Parrot()), pairs, "news", experiment.config)

    def test_the_worst_are_shown(self, trained: Path) -> None:
        samples = self.drawn(Experiment.open(trained), 300)
        assert (samples.sentences, samples.read) == (300, 300)
        worst = [int(sample.source) for sample in samples.worst]
        assert len(worst) == 10
        assert {*worst[:2]} == {287, 294}  # which lack five digits
        assert all(n % 7 == 0 and 210 < n <= 280 for n in worst[2:])  # four
        scores = [sample.chrf for sample in samples.worst]
        assert scores == sorted(scores)
        assert scores[-1] < 100

    def test_none_that_is_right_is_among_them(self, trained: Path) -> None:
        samples = self.drawn(Experiment.open(trained), 20)
        assert {int(sample.source) for sample in samples.worst} == {7, 14}

    def test_chance_draws_are_repeatable_and_of_the_whole_set(self, trained: Path) -> None:
        experiment = Experiment.open(trained)
        samples, again = self.drawn(experiment, 900), self.drawn(experiment, 900)
        assert samples == again
        assert (samples.sentences, samples.read) == (900, 400)
        drawn = [int(sample.source) for sample in samples.random]
        assert len(drawn) == len(set(drawn)) == 20
        assert drawn == sorted(drawn)
        assert drawn[-1] > 600  # and not the first 20
        other = Experiment(experiment.config.model_copy(update={"seed": 5}), experiment.run)
        assert self.drawn(other, 900).random != samples.random


def test_settings_are_named_by_their_path() -> None:
    values = {"a": 1, "b": {"c": None, "d": "x", "e": {"f": [1, 2]}}, "g": [{"h": True}]}
    assert list(flatten(values)) == [
        ("a", "1"),
        ("b.d", "x"),
        ("b.e.f", "[1, 2]"),
        ("g 1.h", "true"),
    ]


def test_records_survive_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    assert read_records(path) == []
    path.write_text('{"step": 1}\n{"step": 2, "nl', encoding="utf-8")
    assert read_records(path) == [{"step": 1}]


def test_the_same_figures_give_the_same_picture(trained: Path) -> None:
    records = read_records(trained / "metrics.jsonl")
    assert to_svg(learning_curves(records)) == to_svg(learning_curves(records))
    assert "<svg" in to_svg(demo_picture([]))


def test_experts_are_drawn_where_there_are_any() -> None:
    record = {"kind": "training", "step": 1, "nll": 1.0, "learning_rate": 1.0}
    record |= {"tokens_per_second": 1.0}
    experts = {"least_used_expert": 0.1, "most_used_expert": 0.9}
    experts |= {"expert_load_variation": 0.5, "expert_importance_variation": 0.4}
    assert "most used expert" in to_svg(learning_curves([{**record, **experts}]))
    assert "expert" not in to_svg(learning_curves([record]))
