from __future__ import annotations

import json
import logging
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import CommandLine
from ending_model import sentences, write_model
from tiny_model import save_tiny_model
from torch.nn import functional

from dragoman.core.wording import CHOICES
from dragoman.data.batches import make_batch
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import CONVERTED_DIRECTORY, load_model, save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.vocabularies import PAD
from dragoman.translation import engine_choice
from dragoman.translation.engines import automatic, verdicts
from dragoman.translation.engines.automatic import AutomaticEngine
from dragoman.translation.engines.faithful import FaithfulCTranslate2
from dragoman.translation.translator import Translator


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials after a few sentences, which any engine wins that gives the same texts."""
    monkeypatch.setattr(automatic, "FEW", 4)
    monkeypatch.setattr(automatic, "ENOUGH", 12)
    monkeypatch.setattr(automatic, "COMPARED", 8)
    monkeypatch.setattr(verdicts, "LEAST_GAIN", 0.0)


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned for a second to copy, so that its outputs differ and end."""
    path = write_model(tmp_path_factory.mktemp("taught") / "model")
    saved = load_model(path, "cpu")
    model, text = saved.model, sentences(64)
    encoded = list(map(saved.vocabularies.source.encode, text))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(120):
        some = encoded[step % 2 :: 2]
        batch = make_batch(some, some)
        memory = model.encode(batch.source, batch.source_mask)
        hidden, _ = model.decode(batch.target_input, memory, model.start(memory))
        scores = model.logits(hidden).transpose(1, 2)
        optimizer.zero_grad()
        functional.cross_entropy(scores, batch.target_output, ignore_index=PAD).backward()
        optimizer.step()
    weights = {name: tensor.detach() for name, tensor in model.named_parameters()}
    config = SavedConfig(model=saved.config.model, search={"length_ratio": 1.0})
    save_model(path.with_name("copies"), config, saved.vocabularies, weights)
    return path.with_name("copies")


@pytest.fixture
def model(taught: Path, tmp_path: Path) -> Path:
    return shutil.copytree(taught, tmp_path / "model")


@pytest.fixture
def lines() -> list[str]:
    """Sources, some with what is protected."""
    return [*sentences(60), "", "the small house 5 <b>"]


def load(path: Path, **options: Any) -> Translator:
    return Translator.load(path, device="cpu", **options)


def choice(translator: Translator) -> str:
    return translator.engine_choice or ""


def ctranslate2_searches(translator: Translator) -> bool:
    engine: Any = translator._direct.engine
    assert isinstance(engine, AutomaticEngine)
    return engine._other is not None


SMALL: dict[str, Any] = {"batch_tokens": 200}
"""Several batches, so that the engine can change between them."""


def test_it_changes_to_ctranslate2_and_the_text_stays(
    model: Path, lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    own, translator = load(model, engine="pytorch"), load(model)
    with caplog.at_level(logging.INFO, CHOICES):
        found = translator.translate_nbest(lines, **SMALL)
    assert choice(translator).startswith("ctranslate2 (float32): the same text as pytorch in ")
    assert [one.getMessage() for one in caplog.records if one.name == CHOICES] == [
        f"engine {choice(translator)}"
    ]
    assert len({one.text for (one,) in found}) > 15
    for (theirs,), (ours,) in zip(found, own.translate_nbest(lines, **SMALL), strict=True):
        assert theirs.text == ours.text
        assert theirs.ended == ours.ended
        assert theirs.missing == ours.missing
        assert theirs.invented == ours.invented
        assert theirs.faults == ours.faults
        assert theirs.log_probability == pytest.approx(ours.log_probability, abs=1e-4)
        assert theirs.score == pytest.approx(ours.score, abs=1e-4)
        assert theirs.token_scores == pytest.approx(ours.token_scores, abs=1e-4)
    assert translator.has_token_scores
    own.close()
    translator.close()


def test_a_verdict_is_kept_beside_the_converted_model(model: Path, lines: list[str]) -> None:
    load(model).translate(lines, **SMALL)
    file = model / CONVERTED_DIRECTORY / verdicts.TRIALS_FILE
    (trial,) = json.loads(file.read_text()).values()
    assert trial["differing"] == 0
    assert trial["lines"] >= 8
    again = load(model)
    again.translate(lines[:3], **SMALL)
    assert not ctranslate2_searches(again)  # a few lines are not worth loading it
    again.translate(lines[3:12], batch_tokens=20)
    assert ctranslate2_searches(again)


def test_a_server_takes_a_verdict_at_once_and_tries_sooner(model: Path, lines: list[str]) -> None:
    with load(model) as first:
        first.prepare()  # nothing is known yet
        assert not (model / CONVERTED_DIRECTORY).exists()
        for line in lines[:9]:
            first.translate([line])
        assert ctranslate2_searches(first)  # after COMPARED, not ENOUGH
    with load(model) as later:
        outlook = later._direct.engine.outlook(later.search)
        assert not ctranslate2_searches(later)  # which is said without it
        later.prepare()
        assert outlook == choice(later)
        assert ctranslate2_searches(later)
        assert choice(later).startswith("ctranslate2 (float32): the same text as pytorch in ")


def test_a_trial_advances_batch_by_batch(
    model: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automatic, "PATIENCE", 0.0)  # over after each batch
    with load(model) as translator:
        engine: Any = translator._direct.engine
        translator.translate(lines[:8])
        translator.translate(lines[8:16])
        translator.translate(lines[16:24])  # begins to open CTranslate2, and does not wait for it
        assert engine._other is None
        engine._opening.result()
        monkeypatch.setattr(automatic, "COMPARED", 100)  # no other trial
        engine._running._left.append(engine._running._left[0])
        translator.translate(lines[24:32])
        assert engine._running._lines == 8
        assert translator.engine_choice is None
        translator.translate(lines[32:40])
        assert engine._running is None
        assert choice(translator).startswith("ctranslate2 (float32): the same text as pytorch in ")


def test_an_engine_that_opens_late_is_closed_with_the_translator(
    model: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automatic, "PATIENCE", 0.0)
    may_open, closed = threading.Event(), threading.Event()
    close = FaithfulCTranslate2.close

    def noted(engine: FaithfulCTranslate2) -> None:
        close(engine)
        closed.set()

    monkeypatch.setattr(FaithfulCTranslate2, "close", noted)
    with load(model) as translator:
        engine: Any = translator._direct.engine
        opens = engine._open_other
        engine._open_other = lambda: may_open.wait() and opens()
        for start in range(0, 40, 8):
            translator.translate(lines[start : start + 8])
        assert translator.engine_choice is None
    may_open.set()
    assert closed.wait(60)


def test_a_few_lines_convert_nothing(model: Path, lines: list[str]) -> None:
    translator = load(model)
    translator.translate(lines[:9])
    assert translator.engine_choice is None
    assert not (model / CONVERTED_DIRECTORY).exists()


def test_other_texts_or_no_gain_mean_pytorch(
    model: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "LEAST_GAIN", 1e9)
    slow = load(model)
    slow.translate(lines, **SMALL)
    assert "times as fast" in choice(slow)
    assert choice(slow).startswith("pytorch (float32): ctranslate2 is ")
    (model / CONVERTED_DIRECTORY / verdicts.TRIALS_FILE).unlink()
    monkeypatch.setattr(verdicts, "LEAST_GAIN", 0.0)
    monkeypatch.setattr(automatic, "ENOUGH", 30)
    monkeypatch.setattr(automatic, "COMPARED", 20)
    other = load(model)
    ordinary = FaithfulCTranslate2._ordinary

    def shorter(*arguments: Any) -> list[int] | None:
        ids = ordinary(*arguments)
        return ids and ids[:-1]

    monkeypatch.setattr(FaithfulCTranslate2, "_ordinary", shorter)
    other.translate(lines, **SMALL)
    assert "lines otherwise" in choice(other)
    assert choice(other).startswith("pytorch (float32): ctranslate2 translates ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nbest": 2}, "other n-best lists"),
        ({"sampling": {}}, "draws no samples"),
        ({"coverage_penalty": 0.1}, "no coverage penalty"),
        ({"minimum_length": 2}, "other scores with minimum_length"),
        ({"no_repeat_ngram": 3}, "other scores with no_repeat_ngram"),
    ],
)
def test_settings_that_it_lacks_are_for_pytorch(
    options: dict[str, Any], message: str, model: Path, lines: list[str]
) -> None:
    translator = load(model)
    translator.translate_nbest(lines, **SMALL, **options)
    assert choice(translator).startswith("pytorch (float32): ")
    assert translator._direct.engine.outlook(translator.configure(**options)) == choice(translator)
    assert message in choice(translator)
    assert not (model / CONVERTED_DIRECTORY).exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": "int8"}, "other texts in int8"),
        ({"prefix": "a"}, "no forced prefix"),
    ],
)
def test_systems_that_it_lacks_are_for_pytorch(
    options: dict[str, Any], message: str, model: Path, lines: list[str]
) -> None:
    translator = load(model, **options)
    translator.translate(lines, **SMALL)
    assert message in choice(translator)


def test_an_ensemble_is_for_pytorch(model: Path, lines: list[str]) -> None:
    translator = Translator.load(model, model, device="cpu")
    translator.translate(lines, **SMALL)
    assert "does not support ensembles" in choice(translator)


def test_workers_are_those_of_pytorch(model: Path, lines: list[str]) -> None:
    with load(model, workers=1) as translator:
        translator.translate(lines, **SMALL)
        assert choice(translator) == "pytorch (float32): workers are processes of this engine"


def test_models_that_it_lacks_are_for_pytorch(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "d_ff": 8}
    save_tiny_model(tmp_path, config=TransformerConfig(**sizes, heads=2, activation="swiglu"))
    translator = load(tmp_path)
    translator.translate(["a b c d"] * 30, batch_tokens=40)
    assert "does not support model.activation: swiglu" in choice(translator)


def test_a_call_with_prefixes_stays_with_pytorch(model: Path, lines: list[str]) -> None:
    translator = load(model)
    translator.translate(lines, **SMALL)
    assert ctranslate2_searches(translator)
    (found,) = translator.translate(["the house"], prefix="tree")
    assert found.startswith("tree")


def test_without_the_package_pytorch_stays(
    model: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_choice, "find_spec", lambda _: None)
    translator = load(model)
    translator.translate(lines, **SMALL)
    assert choice(translator) == "pytorch (float32): CTranslate2 is not installed"


def test_a_folder_that_cannot_be_written_stops_nothing(model: Path, lines: list[str]) -> None:
    (model / CONVERTED_DIRECTORY).write_text("no directory")
    own, translator = load(model, engine="pytorch"), load(model)
    assert translator.translate(lines, **SMALL) == own.translate(lines)
    assert choice(translator).startswith("pytorch (float32): ")
    assert CONVERTED_DIRECTORY in choice(translator)


def test_damaged_trials_are_made_again(model: Path, lines: list[str]) -> None:
    load(model).translate(lines, **SMALL)
    file = model / CONVERTED_DIRECTORY / verdicts.TRIALS_FILE
    (key,) = json.loads(file.read_text())
    for damaged in ("{", "[]", json.dumps({key: {"lines": 0}})):
        file.write_text(damaged)
        translator = load(model)
        translator.translate(lines, **SMALL)
        assert ctranslate2_searches(translator)


def test_the_command_line_says_it_once(
    model: Path, lines: list[str], dragoman: CommandLine, caplog: pytest.LogCaptureFixture
) -> None:
    text = ("\n".join(lines[:60]) + "\n").encode()
    own = dragoman("translate", model, "--engine", "pytorch", "--buffer-lines", 10, stdin=text)
    with caplog.at_level(logging.INFO, CHOICES):
        found = dragoman("translate", model, "--buffer-lines", 10, stdin=text)
    assert found.out == own.out
    (said,) = [one for one in caplog.records if one.name == CHOICES]
    assert said.getMessage().startswith("engine ctranslate2 (float32): the same text as pytorch ")
