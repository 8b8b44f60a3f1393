"""The confidence of translations: what is computed, where it is the same, when it is refused."""

from __future__ import annotations

import logging
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from agreement import ABSOLUTE, RELATIVE
from planted_calibration import INTERCEPT, WEIGHTS, calibration_of, plant_calibration
from tiny_model import TINY_LM, save_tiny_adapter, save_tiny_model

from dragoman.core.errors import ConfigError, SavedError
from dragoman.saved.calibration import write_calibration
from dragoman.saved.model import CONFIDENCE_FILE
from dragoman.saved.system import TranslationSystem
from dragoman.search import Hypothesis, SearchConfig
from dragoman.translation.confidence import conditions_of, measure
from dragoman.translation.engines.engine import Engine, SearchedBatch
from dragoman.translation.opening import open_system
from dragoman.translation.outputs import Translation
from dragoman.translation.routing import Router
from dragoman.translation.translator import Translator

LINES = ["a b c d e", "", "e d", "b a c", "c", "d d d d a b c"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant_calibration(save_tiny_model(tmp_path_factory.mktemp("confidence") / "model"))


def load(*models: Path, **options: Any) -> Translator:
    return Translator.load(*models, device="cpu", **{"confidence": True, **options})


def regression(translator: Translator, line: str, found: Translation) -> float:
    """The confidence that was planted, in Python's own float64."""
    source = len(translator.vocabularies.source.encode(line)) + 1
    pieces = len(found.pieces) + 1
    ratio = math.log(pieces / source)
    values = found.log_probability / pieces, math.log(pieces), ratio, abs(ratio)
    logit = INTERCEPT + sum(w * x for w, x in zip(WEIGHTS, values, strict=True))
    return 1 / (1 + math.exp(-logit))


def test_it_is_the_regression_of_what_search_gives(model: Path) -> None:
    """For every hypothesis."""
    translator = load(model)
    assert translator.has_confidence
    found = translator.translate_nbest(LINES, nbest=3)
    for line, hypotheses in zip(LINES, found, strict=True):
        if not line:
            assert hypotheses[0].confidence is None
            continue
        assert len(hypotheses) == 3
        for one in hypotheses:
            assert one.confidence == pytest.approx(regression(translator, line, one), rel=1e-12)


def test_nothing_else_changes(model: Path) -> None:
    plain = Translator.load(model, device="cpu")
    assert not plain.has_confidence
    for one, other in zip(
        load(model).translate_nbest(LINES), plain.translate_nbest(LINES), strict=True
    ):
        assert other[0].confidence is None
        assert (one[0].text, one[0].score) == (other[0].text, other[0].score)


def test_batches_do_not_matter(model: Path) -> None:
    """Nor do processes: see test_workers.py."""
    expected = load(model).translate_nbest(LINES)
    found = load(model).translate_nbest(LINES, batch_tokens=1)
    for (one, *_), (other, *_) in zip(found, expected, strict=True):
        assert one.text == other.text
        assert (one.confidence is None) == (other.confidence is None)
        if other.confidence is not None:
            assert one.confidence == pytest.approx(other.confidence, rel=RELATIVE, abs=ABSOLUTE)


def test_another_engine_gives_it_with_a_warning(
    model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("ctranslate2")
    with caplog.at_level(logging.WARNING), load(model, engine="ctranslate2") as translator:
        found = translator.translate_nbest(LINES)
    assert "(engine ctranslate2 instead of pytorch; early_end" in caplog.text
    for line, (one, *_) in zip(LINES, found, strict=True):
        if line:
            assert one.confidence == pytest.approx(regression(translator, line, one), rel=1e-12)
        else:
            assert one.confidence is None


def test_other_settings_are_warned_about_once(
    model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    translator = load(model)
    with caplog.at_level(logging.WARNING):
        translator.translate(LINES, buffer_lines=2, batch_tokens=10)
        assert not caplog.records
        translator.translate(LINES, beam=2)
        translator.translate(LINES, beam=2)
        translator.translate(LINES, beam=1, minimum_length=1)
    first, second = (record.getMessage() for record in caplog.records)
    assert "(beam 2 instead of 4)" in first
    assert "(beam 1 instead of 4; minimum_length 1 instead of 0)" in second


def test_a_setting_of_a_later_dragoman_had_its_default(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = save_tiny_model(tmp_path / "model")
    system = TranslationSystem(models=(path,), device="cpu")
    calibration = calibration_of(system)
    known = {k: v for k, v in calibration.conditions.search.items() if k != "no_repeat_ngram"}
    older = calibration.conditions.model_copy(update={"search": known})
    changed = calibration.model_copy(update={"conditions": older})
    write_calibration(path / CONFIDENCE_FILE, changed)
    with caplog.at_level(logging.WARNING):
        load(path).translate(LINES)
        assert not caplog.records
        load(path).translate(LINES, no_repeat_ngram=3)
    assert "no_repeat_ngram 3 instead of 0" in caplog.text


def test_a_copy_of_the_model_keeps_it(model: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "copy")
    found = load(tmp_path / "copy").translate_nbest(LINES)
    assert [one[0].confidence for one in found] == [
        one[0].confidence for one in load(model).translate_nbest(LINES)
    ]


def test_an_ensemble_has_a_file(model: Path, tmp_path: Path) -> None:
    other = save_tiny_model(tmp_path / "other", seed=2)
    system = TranslationSystem(models=(model, other), device="cpu")
    path = tmp_path / "both.json"
    write_calibration(path, calibration_of(system))
    (best,), *_ = load(model, other, confidence=path).translate_nbest(LINES)
    assert best.confidence is not None
    with pytest.raises(SavedError, match=r"both.json: this calibration is of other weights"):
        load(other, model, confidence=path)
    with pytest.raises(ConfigError, match=r"an ensemble has no model .*--calibration FILE"):
        load(model, other)


def test_what_decides_is_in_the_conditions(model: Path, tmp_path: Path) -> None:
    """Not where files are, on which device, or how many lines are read at once."""
    save_tiny_model(tmp_path / "lm", config=TINY_LM)
    tagged = save_tiny_model(tmp_path / "tagged", tags=("<ui>",))

    def of(path: Path = model, **values: Any) -> object:
        return conditions_of(open_system(TranslationSystem(models=(path,), **values)))

    here = of(device="cpu")
    fused: dict[str, Any] = {"path": tmp_path / "lm", "weight": 0.3}
    same: dict[str, Any] = {"workers": 2, "prefix": "a", "search": {"buffer_lines": 1, "nbest": 2}}
    assert of(device="cpu", **same) == here
    shutil.copytree(model, tmp_path / "copy")
    assert of(tmp_path / "copy", device="cpu") == here
    assert of(device="cpu", search={"length_penalty": 1.0}) != here
    with_lm = of(device="cpu", language_model=fused)
    assert with_lm != here
    assert with_lm != of(device="cpu", language_model={**fused, "weight": 0.4})
    assert of(tagged, device="cpu", tags=["<ui>"]) != of(tagged, device="cpu")
    assert of(device="cpu", precision="bfloat16") != here
    adapters = [save_tiny_adapter(tmp_path / f"{n}.safetensors", model, n) for n in (1, 2)]
    with_adapter = of(device="cpu", adapter=adapters[0])
    assert with_adapter not in (here, of(device="cpu", adapter=adapters[1]))
    shutil.copy(adapters[0], tmp_path / "elsewhere.safetensors")
    assert of(device="cpu", adapter=tmp_path / "elsewhere.safetensors") == with_adapter


def test_an_overflow_gives_no_confidence(model: Path) -> None:
    nothing = Hypothesis([3], float("nan"), float("nan"), ended=True)
    assert math.isnan(measure(nothing, 1)[0])

    class Overflowing(Engine):
        has_token_scores = False

        def search(self, batches: Any, config: SearchConfig) -> Any:
            for batch in batches:
                yield SearchedBatch(batch, [[nothing] for _ in batch.sources])

        def close(self) -> None:
            pass

    from dragoman.translation.confidence import ConfidentEngine

    opened = open_system(TranslationSystem(models=(model,), device="cpu"))
    calibration = calibration_of(opened.system)
    engine = ConfidentEngine(Overflowing(), calibration, opened)
    with Translator.over(opened, engine) as translator:
        assert translator.translate_nbest(["a"])[0][0].confidence == 0.0


def test_a_line_that_is_refused_has_none(tmp_path: Path) -> None:
    path = plant_calibration(save_tiny_model(tmp_path / "model", max_source_pieces=3))
    found = load(path).translate_nbest(["a b c d e", "a"])
    assert found[0][0].refused is not None
    assert found[0][0].confidence is None
    assert found[1][0].confidence is not None


def test_what_has_no_confidence_is_refused(model: Path, tmp_path: Path) -> None:
    drawings: list[dict[str, Any]] = [{"sampling": {}}, {"mbr": {"samples": 2}}]
    for drawing in drawings:
        with pytest.raises(ConfigError, match=r"samples \(of mbr, too\) have none"):
            load(model).translate(["a"], **drawing)
        with pytest.raises(ConfigError, match="samples"):
            load(model, search=drawing)  # before lines are read
    plain = save_tiny_model(tmp_path / "plain", seed=5)
    with pytest.raises(ConfigError, match=r"confidence.json: no such file.*dragoman calibrate"):
        load(plain)
    shutil.copy(model / CONFIDENCE_FILE, plain)
    with pytest.raises(SavedError, match=r"confidence.json: this calibration is of other weights"):
        load(plain)
    language_model = save_tiny_model(tmp_path / "lm", config=TINY_LM)
    with pytest.raises(ConfigError, match="lm is a language model"):
        load(language_model)
    with pytest.raises(ConfigError, match="through a pivot there are two"):
        load(model, pivot={"language": "en"}, target_language="de")
    with pytest.raises(ConfigError, match="calibrated for one adapter"):
        load(model, adapters={"ui": "ui.safetensors"})


def test_weights_must_be_those_of_the_measurements(tmp_path: Path) -> None:
    path = save_tiny_model(tmp_path / "model")
    system = TranslationSystem(models=(path,), device="cpu")
    write_calibration(path / CONFIDENCE_FILE, calibration_of(system, weights={"margin": 1.0}))
    with pytest.raises(SavedError, match=r"damaged \(weights of margin, not of mean_log_probab"):
        load(path)


def test_a_router_knows_whether_any_translator_has_it(model: Path) -> None:
    with load(model) as one, load(model, confidence=False) as other:
        from dragoman.saved.system_parts import IdentifierConfig
        from dragoman.translation.classification import Identifier

        def router(*translators: Translator) -> Router:
            first, second = translators
            labeller: Any = Identifier
            return Router(labeller, IdentifierConfig(), {"de": first}, second)

        assert router(other, one).has_confidence
        assert router(one, other).has_confidence
        assert not router(other, other).has_confidence
