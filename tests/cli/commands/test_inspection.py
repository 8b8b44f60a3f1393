from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, Outcome, call, experiment, one_error, write_experiment

from dragoman.cli.commands.inspection import LEVELS
from dragoman.core import device
from dragoman.evaluation import tokenizers
from dragoman.evaluation.metric_names import BUILT_IN
from dragoman.experiment import Experiment
from dragoman.models import TransformerConfig
from dragoman.recipe import read_experiment
from dragoman.text.synthetic import read_splits
from dragoman.workflows.doctor import machine, pieces, text_checks, training_lines

Sides = dict[str, list[str]]


@pytest.fixture(scope="module")
def sentences() -> dict[str, Sides]:
    """Healthy text by name: 200 training pairs, 60 of dev and test."""
    splits = read_splits(200, dev=60, test=60)
    return {
        name: {side: [row.texts[side] for row in rows] for side in ("en", "de")}
        for name, rows in zip(splits._fields, splits, strict=True)
    }


class Patient:
    """A folder with plain text files and a configuration, to be made ill and examined."""

    def __init__(self, folder: Path, sentences: dict[str, Sides], dragoman: CommandLine) -> None:
        self.folder, self._dragoman = folder, dragoman
        self.values: dict[str, Any] = experiment()
        parts = {}
        for name, sides in sentences.items():
            for side, lines in sides.items():
                self.write(f"{name}.{side}", "".join(line + "\n" for line in lines))
            parts[name] = {"source": f"{name}.en", "target": f"{name}.de"}
        self.values["data"] = {
            "train": [parts["train"]],
            "dev": parts["dev"],
            "test": {"test": parts["test"]},
        }

    def write(self, name: str, content: str | bytes) -> None:
        data = content if isinstance(content, bytes) else content.encode()
        (self.folder / name).write_bytes(data)

    def lines(self, name: str) -> list[str]:
        return (self.folder / name).read_text(encoding="utf-8").splitlines()

    def examine(self, *options: object) -> Outcome:
        run = self.folder / "run"
        path = write_experiment(self.folder, self.values)
        outcome = self._dragoman("doctor", path, "--run", run, *options)
        assert not run.exists()
        assert "Traceback" not in outcome.err
        return outcome

    def as_json(self, *options: object) -> list[dict[str, str]]:
        """The findings as scripts read them."""
        found = json.loads(self.examine("--json", *options).out)
        assert list(found) == ["findings"]
        return found["findings"]

    def findings(self, level: str, code: int, *options: object) -> str:
        """What is found of a level, when the examination ends with this code."""
        outcome = self.examine(*options)
        assert outcome.code == code, outcome
        if code == 3:
            assert "to fix" in one_error(outcome, 3)
        lines = outcome.out.splitlines()
        assert all(line.split()[0] in LEVELS for line in lines)
        return "\n".join(line for line in lines if line.startswith(level))


@pytest.fixture
def patient(tmp_path: Path, sentences: dict[str, Sides], dragoman: CommandLine) -> Patient:
    return Patient(tmp_path, sentences, dragoman)


def test_healthy(patient: Patient) -> None:
    out = patient.findings("ok", 0)
    topics = {line.split()[1] for line in out.splitlines()}
    assert {"dev:", "train:", "leakage:", "lengths:", "memory:", "time:", "disk:"} <= topics
    assert "200 of 200 pairs remain" in out
    found = [one for one in patient.as_json() if one["level"] == "ok"]
    assert {f"{one['topic']}:" for one in found} == topics
    (train,) = [one["text"] for one in found if one["topic"] == "train"]
    assert f" {train}\n" in out


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("train.de", b"eins\n", "1"),
        ("train.en", b"one\ntwo\xff\n", "train.en:2"),
        ("train.en", "one\n".encode("utf-16"), "UTF-16"),
        ("train.en", b"", "empty"),
        ("dev.de", b"", "empty"),
        ("test.en", b"\xe9t\xe9\n", "test.en:1"),
    ],
    ids=["unequal", "bad bytes", "utf-16", "empty", "empty dev", "latin-1 test"],
)
def test_unreadable_text(name: str, content: bytes, said: str, patient: Patient) -> None:
    patient.write(name, content)
    found = patient.findings("error", 3)
    assert name in found
    assert said in found


@pytest.mark.parametrize(("foreign", "level"), [(0, "ok"), (4, "ok"), (12, "warning")])
def test_text_in_another_language(foreign: int, level: str, patient: Patient) -> None:
    pytest.importorskip("py3langid", exc_type=ImportError)
    german = ["Zwei junge Männer spielen im Park Fußball", "Die Kinder laufen heute zum Strand"]
    english = ["Two young men are playing football today", "The children are running to the beach"]
    lines = [f"{german[n % 2]} {n}." for n in range(200)]
    lines[:foreign] = [f"{english[n % 2]} {n}." for n in range(foreign)]
    patient.write("train.de", "".join(line + "\n" for line in lines))
    found = {(one["level"], one["text"]) for one in patient.as_json() if one["topic"] == "language"}
    assert ("ok", "the text is in the languages declared: en" + ", de" * (level == "ok")) in found
    told = "6% of the target lines declared as de seem to be in another language"
    (warned,) = [text for one, text in found if one == "warning"] or [""]
    assert warned.startswith(told) == (level == "warning")
    assert (f"train.de line 1 '{lines[0]}', " in warned) == (level == "warning")


def test_short_lines_are_not_taken_for_another_language(patient: Patient) -> None:
    pytest.importorskip("py3langid", exc_type=ImportError)
    words = ["Initializing", "Tap water", "Status light", "Door"]
    patient.write("train.en", "".join(f"{words[n % 4]}\n" for n in range(200)))
    patient.write("train.de", "".join(f"Farbmodus {n}\n" for n in range(200)))
    found = {(one["level"], one["text"]) for one in patient.as_json() if one["topic"] == "language"}
    assert found == {
        ("ok", f"not checked: {side} has no line of 4 words or more")
        for side in ("source text in en", "target text in de")
    }


def test_a_small_text_in_another_language_beside_a_large_one(patient: Patient) -> None:
    """Of 400 lines of either language together, 2 % would be no more than chance."""
    pytest.importorskip("py3langid", exc_type=ImportError)
    german = ["Zwei junge Männer spielen im Park Fußball", "Die Kinder laufen heute zum Strand"]
    english = ["Two young men are playing football today", "The children are running to the beach"]
    pairs = [f"{german[n % 2]} {n}.\n" for n in range(200)]
    patient.write("train.de", "".join(pairs))
    patient.write("mono.de", "".join(pairs).replace("Zwei", "Drei"))
    patient.write("small.de", "".join(f"{english[n % 2]} {n}.\n" for n in range(8)))
    copied = {"transforms": [{"kind": "copy"}]}
    patient.values["data"]["train"] += [
        {"target": name, **copied} for name in ("mono.de", "small.de")
    ]
    (warning,) = patient.findings("warning  language", 0).splitlines()
    assert "data.train.2" in warning
    assert "small.de): 100% of its lines, declared as de, seem to be in another language" in warning


def test_languages_that_cannot_be_checked(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "language tlh: unknown here; it knows de, en"
    monkeypatch.setattr(training_lines, "why_not_judged", lambda language: reason)
    found = [one for one in patient.as_json() if one["topic"] == "language"]
    text = "not checked: language tlh: unknown here"
    assert found == [{"level": "ok", "topic": "language", "text": text}]


def test_missing_file_and_column(patient: Patient) -> None:
    (patient.folder / "dev.en").unlink()
    patient.write("train.tsv", "en\tfr\none\tun\n")
    patient.values["data"]["train"] = [{"path": "train.tsv", "source": "en", "target": "de"}]
    found = patient.findings("error", 3)
    assert "dev.en" in found
    assert "train.tsv" in found
    assert "de" in found
    quietly = patient.as_json("--quiet")
    assert "ok" not in {one["level"] for one in quietly}
    errors = [one["text"] for one in quietly if one["level"] == "error"]
    assert len(errors) == len(found.splitlines())
    assert all(text in found for text in errors)
    assert patient.findings("ok", 3, "-q") == ""


def test_colours_are_for_terminals_that_want_them(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    (patient.folder / "train.en").unlink()
    assert "\x1b" not in patient.examine().out
    monkeypatch.setattr("click._compat.isatty", lambda stream: True)
    assert "\x1b[31merror" in patient.examine().out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in patient.examine().out


@pytest.mark.parametrize("odd", ["\ufeff", "\r", "\u2028", "\x85", "\x0b"])
def test_odd_but_harmless_characters(odd: str, patient: Patient) -> None:
    """A byte order mark, Windows line ends, and line ends that are none."""
    lines = patient.lines("train.en")
    lines[0] = odd + lines[0] if odd == "\ufeff" else lines[0] + odd
    patient.write("train.en", "".join(line + "\n" for line in lines))
    assert patient.findings("error", 0) == ""
    assert "200 of 200 pairs remain" in patient.examine().out


def test_a_line_of_100_000_characters(patient: Patient) -> None:
    lines = patient.lines("train.en")
    lines[3] = "one " * 25_000
    patient.write("train.en", "\n".join(lines) + "\n")
    assert "too long 1" in patient.findings("ok", 0)
    patient.write("dev.en", "\n".join([lines[3], *patient.lines("dev.en")[1:]]) + "\n")
    assert "line 1: 75000 pieces are more" in patient.findings("error", 3)


def test_emulated_arithmetic(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "computes_bfloat16", lambda where: False)
    setting = "training.precision"
    found = patient.findings("warning", 0, "--set", f"{setting}=bfloat16")
    assert "no bfloat16 arithmetic" in found
    assert f"set {setting}: float32" in found


def test_leakage(patient: Patient, sentences: dict[str, Sides]) -> None:
    for side in ("en", "de"):
        leaked = sentences["test"][side][:30]
        patient.write(f"train.{side}", "\n".join([*sentences["train"][side], *leaked]) + "\n")
    assert "30 training pairs repeat" in patient.findings("warning", 0)
    patient.values["data"]["cleaning"] = {"keep_held_out": True}
    assert "better than the model is" in patient.findings("warning", 0)


def test_text_that_is_held_out(patient: Patient, sentences: dict[str, Sides]) -> None:
    """Training leaves it out, and so does the doctor."""
    for side in ("en", "de"):
        patient.write(f"other.{side}", "\n".join(sentences["train"][side][:30]) + "\n")
    other = {"source": "other.en", "target": "other.de"}
    patient.values["data"]["held_out"] = [other]
    assert "30 training pairs repeat a dev, test or held-out" in patient.findings("warning", 0)
    assert "170 of 200 pairs remain after cleaning (dropped: held out 30" in patient.examine().out
    patient.values["data"]["held_out"] = [other, {**other, "source": "none.en"}]
    found = patient.findings("error", 3)
    assert "held_out.1:" in found and "none.en" in found


def test_one_file_split_by_lines(patient: Patient, sentences: dict[str, Sides]) -> None:
    for side in ("en", "de"):
        empty = {"en": "", "de": "leer"}[side]
        lines = [*sentences["train"][side], empty, *sentences["dev"][side]]
        patient.write(f"all.{side}", "\n".join(lines) + "\n")
    whole, last = {"source": "all.en", "target": "all.de"}, len(sentences["train"]["en"])
    patient.values["data"] |= {
        "train": [{**whole, "transforms": [{"kind": "filter", "last_line": last}]}],
        "dev": {**whole, "transforms": [{"kind": "filter", "first_line": last + 1}]},
    }
    found = {one["topic"]: one for one in patient.as_json()}
    assert (found["leakage"]["level"], found["train"]["level"]) == ("ok", "warning")
    assert f"{last} of {last + 1 + len(sentences['dev']['en'])} pairs" in found["train"]["text"]
    assert f"1 pairs have an empty side (first: line {last + 1})" in patient.findings("warning", 0)


def test_much_is_dropped(patient: Patient) -> None:
    lines = patient.lines("train.en")
    patient.write("train.en", "\n" * 100 + "\n".join(lines[100:]) + "\n")
    assert "100 of 200 pairs remain" in patient.findings("warning", 0)
    patient.write("train.en", "\n" * 200)
    assert "0 of 200" in patient.findings("error", 3)


def test_empty_lines_of_a_dev_set(patient: Patient) -> None:
    patient.write("dev.en", "\n" + "\n".join(patient.lines("dev.en")[1:]) + "\n")
    found = patient.findings("warning", 0)
    assert "1 pairs have an empty side (first: line 1)" in found


def test_a_limit_that_drops_all_pairs(patient: Patient) -> None:
    """Training has nothing to learn from then."""
    found = patient.findings("error", 3, "--set", "data.max_pieces=1")
    assert "all pairs exceed data.max_pieces 1" in found


@pytest.mark.parametrize("content", [None, b""], ids=["missing", "empty"])
def test_the_glossary_of_a_score_is_read(content: bytes | None, patient: Patient) -> None:
    if content is not None:
        patient.write("terms.tsv", content)
    patient.values["evaluation"] = {"metrics": ["bleu", "terms"], "glossary": "terms.tsv"}
    errors = patient.findings("error", 3).splitlines()
    assert [line.split()[1] for line in errors] == ["dev:", "test:"]
    assert all("terms.tsv" in line for line in errors)


def test_scores_of_trees_need_trees(patient: Patient) -> None:
    patient.values["evaluation"] = {"metrics": ["bracketing_f1"]}
    errors = patient.findings("error", 3).splitlines()
    assert [line.split()[1] for line in errors] == ["dev:", "test:"]
    assert all("line 1 is no tree" in line for line in errors)


def test_a_wrong_seed_of_intervals(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would end training at its first validation."""
    monkeypatch.setenv("SACREBLEU_SEED", "many")
    patient.values["evaluation"] = {"metrics": ["bleu"], "confidence_samples": 10}
    errors = patient.findings("error", 3).splitlines()
    assert [line.split()[1] for line in errors] == ["dev:", "test:"]
    assert all("SACREBLEU_SEED='many'" in line for line in errors)


def test_a_file_that_only_training_reads(patient: Patient) -> None:
    """A transform that draws is not applied before."""
    terms = {"kind": "terms", "glossary": "terms.tsv"}
    patient.values["data"]["train"][0]["transforms"] = [terms]
    assert "terms.tsv" in patient.findings("error", 3)
    patient.write("terms.tsv", "en\tde\nhouse\tHaus\n")
    assert patient.findings("error", 0) == ""


def test_swapped_sides(patient: Patient) -> None:
    dev = patient.values["data"]["dev"]
    dev["source"], dev["target"] = dev["target"], dev["source"]
    assert "dev looks like the target" in patient.findings("error", 3)


def test_the_same_file_twice(patient: Patient) -> None:
    patient.values["data"]["train"][0]["target"] = "train.en"
    patient.values["data"]["cleaning"] = {"min_identical_words": None}
    assert "same text on both sides" in patient.findings("warning", 0)


def test_copies_and_text_without_a_source_are_no_translations(patient: Patient) -> None:
    """Neither is said to be the same file twice, unrelated or swapped."""
    noisy: dict[str, Any] = {"task": "denoising", "transforms": [{"kind": "copy"}, {"kind": "tag"}]}
    made: dict[str, Any] = {"task": "back_translation"}
    made["transforms"] = [{"kind": "back_translation"}, {"kind": "tag"}]
    de = {"target": "train.de", "source_language": "en", "target_language": "de"}
    en = {"target": "train.en", "source_language": "de", "target_language": "en"}
    parts = [{**noisy, **one, "source_language": one["target_language"]} for one in (de, en)]
    parts += [{**made, **de}, {**made, **en}]
    back = {**en, "target": "dev.en", "transforms": made["transforms"]}
    patient.values["data"] |= {"train": parts, "dev": back, "test": {}}
    patient.values["training"] |= {
        "tasks": {"denoising": {"weight": 1}, "back_translation": {"weight": 1}},
        "best_metric": "round_trip",
    }
    outcome = patient.examine("--json")
    assert outcome.code == 0, outcome.err
    assert '"sides"' not in outcome.out


def test_lines_that_do_not_belong_together(patient: Patient) -> None:
    lines = patient.lines("train.de")
    random.Random(1).shuffle(lines)
    patient.write("train.de", "\n".join(lines) + "\n")
    assert "hardly correlate" in patient.findings("warning", 0)


def test_vocabulary_larger_than_the_text(patient: Patient) -> None:
    found = patient.findings("error", 3, "--set", "vocabulary.size=50000")
    assert re.search(r"vocabulary.size 50000 .* set it to \d+ or less", found)


def test_the_vocabulary_is_that_of_the_run(patient: Patient, tmp_path: Path) -> None:
    """Made from the same cleaned text, with the same weights."""
    train = patient.values["data"]["train"][0]
    (reversed_part,) = [{side: f"reversed.{side[0]}" for side in ("source", "target")}]
    for side, name in reversed_part.items():
        lines = [line[::-1] for line in patient.lines(train[side])[:50]]
        patient.write(name, "".join(f"{line}\n" for line in [*lines, "xyz " * 600]))
    patient.values["data"]["train"] = [train | {"weight": 2}, reversed_part | {"weight": 0.5}]
    config = read_experiment(write_experiment(patient.folder, patient.values))
    texts, encoded = text_checks.Texts(), pieces.Encoded()
    for findings in (
        text_checks.check_evaluation(config, texts),
        text_checks.check_training(config, texts),
        pieces.check_vocabulary(config, texts, encoded),
    ):
        assert not [one for one in findings if one.level == "error"]
    made = Experiment.create(config, tmp_path / "run").prepare().vocabularies
    assert encoded.vocabularies is not None
    assert encoded.vocabularies.source.fingerprint == made.source.fingerprint


def test_a_start_from_another_model(patient: Patient, trained: Path) -> None:
    """Its vocabulary is examined, and whether its weights fit."""
    del patient.values["vocabulary"]
    patient.values["training"]["start_from"] = str(trained)
    assert "vocabulary: 120 pieces, joint" in patient.examine().out
    patient.values["data"]["dev"]["tags"] = ["<x>"]
    outcome = patient.examine()
    assert outcome.code == 3
    assert "has no tag <x>; tags there: none" in outcome.out
    del patient.values["data"]["dev"]["tags"]
    patient.values["training"]["start_from"] = {"model": str(trained), "vocabulary": "extend"}
    patient.values["vocabulary"] = {"size": 125}
    assert "vocabulary: 125 pieces, joint" in patient.examine().out
    assert "does not pay" in patient.findings("warning", 0)
    patient.values["model"]["d_model"] = 32
    outcome = patient.examine()
    assert outcome.code == 3
    assert "another kind of model: d_model 16, here 32" in outcome.out


def test_a_start_from_a_model_of_another_script(patient: Patient, trained: Path) -> None:
    """The doctor says whether to extend its vocabulary, and the size that it names is right."""
    del patient.values["vocabulary"]
    patient.values["training"]["start_from"] = str(trained)
    same = patient.examine().out
    assert "extending by" in same and "does not pay" in same
    for name in ("train.de", "dev.de", "test.de"):
        lines = [line.translate({ord("e"): "Ж", ord("n"): "Ш"}) for line in patient.lines(name)]
        patient.write(name, "\n".join(lines) + "\n")
    found = patient.findings("warning", 0)
    assert "are unknown: Ж Ш" in found
    wanted = re.search(r"start_from\.vocabulary: extend and vocabulary\.size: (\d+)", found)
    assert wanted is not None
    patient.values["training"]["start_from"] = {"model": str(trained), "vocabulary": "extend"}
    patient.values["vocabulary"] = {"size": int(wanted[1])}
    out = patient.examine().out
    assert f"vocabulary: {wanted[1]} pieces, joint" in out
    assert "unknown pieces" not in out


def test_an_adapter_of_a_model(patient: Patient, trained: Path) -> None:
    """Its factors alone learn, and take a gradient and moments."""
    del patient.values["vocabulary"]
    patient.values["training"]["start_from"] = str(trained)
    whole = patient.examine("--set", "training.keep_checkpoints=40").out
    patient.values["training"]["adapter"] = {"rank": 1}
    out = patient.examine("--set", "training.keep_checkpoints=40").out
    found = re.search(r"([\d,]+) parameters, of which ([\d,]+) learn", out)
    assert found is not None
    total, learned = (int(number.replace(",", "")) for number in found.groups())
    assert 0 < learned < total // 4
    disk = [re.search(r"checkpoints take ([\d.]+) MB", one) for one in (whole, out)]
    assert disk[0] is not None and disk[1] is not None
    assert float(disk[1][1]) < 0.6 * float(disk[0][1])


def test_unknown_characters(patient: Patient) -> None:
    patient.write("dev.en", "\n".join([*patient.lines("dev.en")[1:], "Ωmega"]) + "\n")
    found = patient.findings("warning", 0)
    assert "Ω U+03A9" in found
    assert "byte_fallback" in found


def test_unknown_characters_are_not_those_of_tags(patient: Patient) -> None:
    for name in ("train", "dev"):
        part = patient.values["data"][name]
        (part[0] if name == "train" else part)["tags"] = ["<ж>"]
    patient.write("dev.en", "\n".join([*patient.lines("dev.en")[1:], "Ωmega"]) + "\n")
    found = patient.findings("warning", 0)
    assert "Ω U+03A9" in found
    assert "U+003C" not in found


def test_lengths_beyond_the_limits(patient: Patient) -> None:
    assert "max_pieces 5" in patient.findings("warning", 0, "--set", "data.max_pieces=5")
    learned = ("--set", "model.positions=learned", "--set", "model.max_positions=100")
    assert "model.max_positions 100" in patient.findings("error", 3, *learned)


@pytest.mark.parametrize(
    "model",
    [
        {"positions": "learned"},
        {"family": "convs2s", "encoder_layers": 1, "decoder_layers": 1, "d_hidden": 16},
    ],
    ids=["learned positions", "convs2s"],
)
def test_an_evaluation_line_beyond_the_positions(model: dict[str, Any], patient: Patient) -> None:
    """It would end the run when it is scored, a test line only after all of training."""
    shared = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "max_positions": 100}
    patient.values["model"] = shared | model
    patient.values["data"]["max_pieces"] = 99
    assert patient.findings("error", 0) == ""
    words = " ".join(["Omega"] * 60)
    patient.write("test.de", "\n".join([*patient.lines("test.de")[1:], words]) + "\n")
    found = patient.findings("error", 3)
    assert re.search(r"test: +line 60: \d+ pieces and .* than model.max_positions 100", found)
    patient.values["search"]["max_source_pieces"] = 98
    patient.values["model"]["max_positions"] = 1000
    found = patient.findings("error", 3)
    assert re.search(r"test: +line 60: \d+ pieces are more than search.max_source_pieces 98", found)


def test_schedules_that_make_no_sense(patient: Patient) -> None:
    late = ("--set", "training.schedule.warmup_steps=4000")
    assert "warmup_steps 4000" in patient.findings("warning", 0, *late)
    endless = ("--set", "training.max_steps=null")
    assert "nothing ends the training" in patient.findings("warning", 0, *endless)
    falling = ("--set", "training.schedule.decay=linear", "--set", "training.max_epochs=3")
    assert "falls until" not in patient.findings("warning", 0, *falling)
    del patient.values["training"]["max_steps"]
    assert "falls until step 100,000" in patient.findings("warning", 0, *falling)
    many = ("--set", "training.max_steps=1000000")
    assert "memorise" in patient.findings("warning", 0, *many)


def test_too_little_memory(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "available_memory", lambda _: 1e6)
    assert "weights and moments alone" in patient.findings("error", 3)
    monkeypatch.setattr(machine, "available_memory", lambda _: 2e9)
    large = ("--set", "training.step_tokens=100000000")
    found = patient.findings("error", 3, *large)
    fitting = int(re.findall(r"device_tokens to (\d+) or less", found)[0])
    fits = (*large, "--set", f"training.device_tokens={fitting}")
    assert patient.findings("error", 0, *fits) == ""
    monkeypatch.setattr(machine, "static_memory", lambda _: 2e9 - 1)
    assert "reduce the sizes of the model" in patient.findings("error", 3)


def test_a_model_far_too_large_for_the_text(patient: Patient) -> None:
    found = patient.findings("warning", 0, "--set", "model.d_ff=20000")
    folder = patient.folder
    command = f"dragoman init {folder}/train.en {folder}/train.de --source en --target de"
    assert re.search(rf"model: .* parameters are far too many for .* {command}", found)
    assert "far too many" not in patient.findings("warning", 0)


def test_a_training_of_many_days(patient: Patient) -> None:
    table = "en\tde\n" + "".join(
        f"{pair[0]}\t{pair[1]}\n"
        for pair in zip(patient.lines("train.en"), patient.lines("train.de"), strict=True)
    )
    patient.write("two words.txt", table)
    part = {"path": "two words.txt", "format": "tsv", "source": "en", "target": "de"}
    patient.values["data"]["train"] = [part]
    steps = ("--set", "training.max_steps=10000000000", "--set", "training.patience=5")
    found = patient.findings("warning", 0, *steps)
    path = re.escape(str(patient.folder / "two words.txt"))
    command = f"dragoman init '{path}' --source en --target de --format tsv --minutes"
    assert re.search(rf"days .*{command}", found)


@pytest.fixture
def korean(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Patient]:
    """Whose target is in Hangul, where sacrebleu's tokenizer for it is not installed."""
    lines = [f"{word} 문을 여세요 {n}\n" for n in range(20) for word in ("첫째", "둘째", "셋째")]
    patient.write("dev.de", "".join(lines))
    monkeypatch.setitem(sys.modules, "mecab_ko", None)
    monkeypatch.delitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ko_mecab", raising=False)
    tokenizers.is_installed.cache_clear()
    yield patient
    tokenizers.is_installed.cache_clear()


def test_bleu_that_finds_no_words(korean: Patient) -> None:
    found = korean.findings("warning", 0)
    assert "bleu_tokenize: 13a finds hardly any words in Hangul" in found
    assert "set evaluation.bleu_tokenize: char; ko-mecab is usual" in found
    by_characters = ("--set", "evaluation.bleu_tokenize=char")
    assert "hardly any words" not in korean.findings("warning", 0, *by_characters)
    no_bleu = ("--set", "evaluation.metrics=[chrf]")
    assert "hardly any words" not in korean.findings("warning", 0, *no_bleu)


def test_a_tokenizer_that_is_not_installed(korean: Patient, dragoman: CommandLine) -> None:
    missing = ("--set", "evaluation.bleu_tokenize=ko-mecab")
    assert "pip install 'sacrebleu[ko]'" in korean.findings("error", 3, *missing)
    run = korean.folder / "trained"
    config = write_experiment(korean.folder, korean.values)
    outcome = dragoman("train", config, "--run", run, *missing)
    assert "pip install 'sacrebleu[ko]'" in one_error(outcome, 7)
    assert not (run / "vocabulary.model").exists()  # told before anything is prepared


@pytest.mark.parametrize("metric", ["blue", "comet"])
def test_a_metric_that_there_is_not(metric: str, patient: Patient) -> None:
    line = one_error(patient.examine("--set", f"evaluation.metrics=[chrf, {metric}]"), 2)
    *names, last = map(repr, BUILT_IN)
    named = f"{', '.join(names)} or {last}"
    assert f"evaluation.metrics.1: Input should be {named}, found '{metric}'" in line


def test_a_run_directory_that_training_will_refuse(patient: Patient) -> None:
    path = write_experiment(patient.folder, patient.values)
    outcome = call("doctor", path, "--run", patient.folder)
    assert outcome.code == 3
    assert re.search(r"error +run: +.* and is not a run; choose a new or empty", outcome.out)


def test_a_trained_run_is_examined_by_its_directory(trained: Path, dragoman: CommandLine) -> None:
    outcome = dragoman("doctor", trained)
    assert outcome.code == 0, outcome
    assert f"the model of {trained} is searched by pytorch" in outcome.out
    line = one_error(dragoman("doctor", trained / "model"), 2)
    assert line.endswith(f"name a configuration file, such as {trained / 'model' / 'config.yaml'}")


def test_too_little_disk(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    assert "keep_checkpoints" in patient.findings("error", 3)


def test_memory_of_the_backward_pass_grows_with_depth(patient: Patient) -> None:
    def taken(layers: int) -> int:
        options = ("--set", f"model.encoder_layers={layers}", "--set", "model.d_ff=2048")
        batch = ("--set", "training.step_tokens=100000")
        out = patient.examine(*options, *batch).out
        number, unit = re.findall(r"training takes about ([\d.]+) (GB|MB)", out)[0]
        return int(float(number) * (1000 if unit == "GB" else 1))

    assert taken(6) > taken(1) + 500


@pytest.mark.parametrize("command", ["doctor", "cost", "train", "prepare"])
@pytest.mark.parametrize(
    ("values", "said"),
    [({"modle": {}}, "did you mean 'model'"), ({"seed": "lucky"}, "seed"), ({"data": {}}, "data")],
)
def test_wrong_configurations(
    command: str, values: dict[str, Any], said: str, dragoman: CommandLine, tmp_path: Path
) -> None:
    path = write_experiment(tmp_path, experiment() | values)
    line = one_error(dragoman(command, path), 2)
    assert said in line
    assert str(path) in line


def test_cost_counts_the_model_of_the_configuration(
    config: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    from dragoman.models.cost import cost

    found = json.loads(dragoman("cost", config, "--json").out)
    values = experiment()
    expected = cost(TransformerConfig(**values["model"]), 120, 120)
    assert found["parameters"] == expected.parameters
    assert found["target_tokens"] == 12 * 500
    assert found["training_flops"] == expected.flops_per_target_token * 12 * 500
    text = dragoman("cost", config).out
    assert f"{expected.total_parameters:,}" in text
    assert "FLOPs to train" in text
    open_ended = dragoman("cost", config, "--set", "training.max_steps=null")
    assert "depends on the text" in open_ended.out
