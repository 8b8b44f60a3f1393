from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.core.config import parse
from dragoman.core.files import write_json
from dragoman.recipe import ExperimentConfig
from dragoman.run.training_facts import training_facts, training_text
from dragoman.saved.model_card import TextTeacher
from dragoman.text.corpora.fetched_corpus import FetchedCorpus, record_corpus
from dragoman.training.checkpoint import Progress
from dragoman.training.distributed import World


def config(*parts: dict[str, str]) -> ExperimentConfig:
    data = {"train": list(parts), "dev": parts[0]}
    values = {"source_language": "en", "target_language": "de", "data": data}
    return parse(ExperimentConfig, values, Path("test"))


def test_public_corpora_have_their_licence_and_others_what_the_recipe_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_CORPORA", str(tmp_path))
    public = str(tmp_path / "pydocs" / "train.tsv.gz")
    facts = training_facts(
        config(
            {"path": public, "source": "en", "target": "de"},
            {"path": public, "source": "en", "target": "de", "licence": "mine"},
            {"path": "/home/secret/own.tsv", "source": "en", "target": "de", "licence": "CC0-1.0"},
            {"source": "/home/secret/a.en", "target": "/home/secret/a.de"},
        ),
        tmp_path,
        Progress(step=7, target_tokens=11, seconds=2.5),
        {"test": {"loss": 2, "language": "en", "bleu": {"value": 3.5, "signature": "tok:13a"}}},
        World.alone(),
    )
    assert [(one.name, one.licence, one.home) for one in facts.text] == [
        ("pydocs: train.tsv.gz", "PSF-2.0", facts.text[0].home),
        ("pydocs: train.tsv.gz", "mine", facts.text[0].home),
        ("own.tsv", "CC0-1.0", None),
        ("a.en + a.de", None, None),
    ]
    assert (facts.text[0].home or "").startswith("https://")
    assert facts.text[0].direction == "en-de"
    assert [(one.metric, one.value, one.signature) for one in facts.scores] == [
        ("loss", 2, ""),
        ("bleu", 3.5, "tok:13a"),
    ]
    assert (facts.steps, facts.target_tokens, facts.seconds, facts.pairs) == (7, 11, 2.5, None)
    assert facts.processor


def test_corpora_of_other_lists_have_what_their_record_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_CORPORA", str(tmp_path))
    folder = tmp_path / "hf/org/pairs@abc#en-de"
    record = FetchedCorpus(
        name="hf:datasets/org/pairs@abc#en-de",
        languages=("en", "de"),
        licence="cc0-1.0",
        home="https://example.org",
    )
    record_corpus(folder, record)
    part = {"source": str(folder / "train.en.gz"), "target": str(folder / "train.de.gz")}
    (text,) = training_text(config(part))
    assert text.name == "hf:datasets/org/pairs@abc#en-de: train.en.gz + train.de.gz"
    assert (text.licence, text.home) == ("cc0-1.0", "https://example.org")


REPORT = {"url": "http://a/v1", "models": {"llm-1": 8, "": 1}, "terms_of_use": "May train."}


@pytest.mark.parametrize(
    ("name", "report", "teacher"),
    [
        ("pairs.jsonl.gz", REPORT, TextTeacher("http://a/v1", ("llm-1",), "May train.")),
        ("mine.jsonl.gz", REPORT, None),
        ("pairs.jsonl.gz", {"kept": 7}, None),
        ("pairs.jsonl.gz", [REPORT], None),
        ("pairs.jsonl.gz", {**REPORT, "models": None}, None),
        ("pairs.jsonl.gz", None, None),
    ],
)
def test_the_report_beside_synthetic_text_names_its_teacher(
    name: str, report: Any, teacher: TextTeacher | None, tmp_path: Path
) -> None:
    if report is not None:
        write_json(tmp_path / "report.json", report)
    part = {"path": str(tmp_path / name), "source": "source", "target": "target"}
    (text,) = training_text(config(part))
    assert text.teacher == teacher
