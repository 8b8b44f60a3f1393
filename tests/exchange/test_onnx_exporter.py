from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError, ExportError
from dragoman.exchange import onnx_exporter
from dragoman.exchange.exporting import export_model
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import load_model
from dragoman.saved.saved_config import SavedModel
from dragoman.text.vocabularies import BOS, EOS
from dragoman.translation.translator import Translator

PAGE = Path(__file__).parents[2] / "docs" / "import-export.md"
LINES = ["a b c", "e d", "b"]

SIZES: dict[str, Any] = {
    "encoder_layers": 1,
    "decoder_layers": 2,
    "d_model": 8,
    "d_ff": 8,
    "heads": 2,
}


def save(path: Path, **values: Any) -> Path:
    return save_tiny_model(path, config=TransformerConfig(**{**SIZES, **values}), seed=3)


def session(path: Path) -> Any:
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def beams(saved: SavedModel, directory: Path, length: int) -> tuple[Any, Any]:
    """Log-probabilities by our model and by the graphs: 3 sentences, 2 beams each."""
    rng = np.random.default_rng(5)
    pieces = len(saved.vocabularies.source)
    source = rng.integers(EOS, pieces, (3, length))
    mask = np.ones((3, length), bool)
    mask[1, 1:] = False
    target = rng.integers(EOS, pieces, (6, 5))
    target[:, 0] = BOS
    with torch.inference_mode():
        memory = saved.model.encode(torch.from_numpy(source), torch.from_numpy(mask))
        start = saved.model.start(memory, beam=2)
        hidden, _ = saved.model.decode(torch.from_numpy(target), memory, start)
        ours = saved.model.logits(hidden).numpy()
    encoder = session(directory / "encoder.onnx")
    names = [one.name for one in encoder.get_outputs()]
    found = encoder.run(None, {"source": source, "source_mask": mask})
    given = dict(zip(names, found, strict=True))
    decoder = session(directory / "decoder.onnx")
    outputs = [one.name for one in decoder.get_outputs()]
    past = {
        name.replace("memory", "past"): np.zeros((6, one.shape[1], 0, one.shape[3]), "f")
        for name, one in given.items()
    }
    theirs = []
    for position in range(target.shape[1]):
        piece = {"target": target[:, position : position + 1], "source_mask": mask}
        out = dict(zip(outputs, decoder.run(None, {**piece, **given, **past}), strict=True))
        theirs.append(out.pop("logits"))
        past = {f"past_{name}": one for name, one in out.items()}
    return ours, np.stack(theirs, axis=1)


@pytest.mark.parametrize(
    ("values", "length"),
    [
        ({"norm": "pre", "normalization": "rms", "activation": "swiglu", "source_end": False}, 1),
        ({"positions": "relative", "attention_bias": True, "d_v": 5, "begin": "zeros"}, 301),
        ({"positions": "buckets", "activation": "geglu_tanh", "embeddings": "inputs"}, 140),
    ],
)
def test_any_batch_beam_and_length(values: dict[str, Any], length: int, tmp_path: Path) -> None:
    path = save(tmp_path / "m", **values)
    report = export_model(path, "onnx", tmp_path / "out")
    assert report.difference is not None and report.difference < 1e-4
    ours, theirs = beams(load_model(path, "cpu"), tmp_path / "out", length)
    np.testing.assert_allclose(theirs, ours, atol=1e-4)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"window": 3}, "model.window: 3"),
        ({"decoder_mixing": "ssru"}, "model.decoder_mixing: ssru"),
        ({"mixture": {"experts": 4}}, "model.mixture: "),
    ],
)
def test_what_it_cannot_express_is_refused(
    values: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=f"ONNX export does not support {told}"):
        export_model(save(tmp_path / "m", **values), "onnx", tmp_path / "out")


def test_graphs_that_differ_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_exporter, "mask_bias", lambda mask, _: torch.zeros(mask.shape))
    with pytest.raises(ExportError, match=r"the ONNX graphs give log-probabilities that differ"):
        export_model(save(tmp_path / "m", decoder_layers=1), "onnx", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_program_in_the_manual_translates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (program,) = re.findall("```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len([line for line in program.splitlines() if line]) <= 25
    path = save_tiny_model(tmp_path / "m", config=TransformerConfig(**SIZES), seed=8)
    export_model(path, "onnx", tmp_path / "out")
    said = []
    for line in LINES:
        monkeypatch.setattr(sys, "argv", ["program", str(tmp_path / "out"), line])
        exec(program, {})
        said.append(capsys.readouterr().out.strip())
    own = Translator.load(path, device="cpu")
    assert said == own.translate(LINES, beam=1, degenerate="keep", extra_length=50)
    assert len(set(said)) > 1
