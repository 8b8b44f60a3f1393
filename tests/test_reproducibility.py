"""The same text, and scores to a tolerance, however a machine carries out the search.

In float32, as models are loaded: batches of other shapes, another order, another number of threads
and the kernels that older processors have.  ``test_workers.py`` has other processes.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from agreement import assert_same_translations, close

from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.saved.model import save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.translation.outputs import Translation
from dragoman.translation.translator import Translator

NBEST = 2
Found = list[list[Translation]]

OLD_KERNELS = {
    "ATEN_CPU_CAPABILITY": "default",  # PyTorch's own
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
}

ELSEWHERE = """
import json, sys, torch
from dataclasses import asdict
from dragoman import load
translator = load(sys.argv[1], device="cpu")
found = translator.translate_nbest(json.load(sys.stdin), nbest=int(sys.argv[2]))
kernels = torch.backends.cpu.get_cpu_capability()
print(json.dumps([kernels, [[asdict(translation) for translation in best] for best in found]]))
"""


def sentences(count: int) -> list[str]:
    rng = random.Random(3)
    words = ["the", "a", "small", "large", "house", "tree", "stands", "by", "under", "old", "new"]
    return [" ".join(rng.choices(words, k=rng.randint(1, 9))) for _ in range(count)]


LINES = [*sentences(15), ""]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Large enough for the blocked kernels of matrix libraries; sharp, so that ties are rare."""
    text = sentences(60)
    vocabularies = train_vocabularies(
        zip(text, text, strict=True), VocabularyConfig(size=60), seed=1
    )
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 64, "d_ff": 256, "heads": 4}
    config = TransformerConfig(**sizes, embeddings="separate")
    torch.manual_seed(1)
    network = Transformer(config, len(vocabularies.source), len(vocabularies.target))
    with torch.no_grad():
        network.output.weight *= 4
    weights = {name: tensor.detach() for name, tensor in network.named_parameters()}
    path = tmp_path_factory.mktemp("reproducible") / "model"
    save_model(path, SavedConfig(model=config, search={"extra_length": 4}), vocabularies, weights)
    return path


@pytest.fixture(scope="module")
def translator(model: Path) -> Translator:
    return Translator.load(model, device="cpu")


@pytest.fixture(scope="module")
def expected(translator: Translator) -> Found:
    return translator.translate_nbest(LINES, nbest=NBEST)


@pytest.mark.parametrize("shape", [{"buffer_lines": 1}, {"buffer_lines": 5}, {"batch_tokens": 90}])
def test_batches_of_other_shapes(
    translator: Translator, expected: Found, shape: dict[str, Any]
) -> None:
    assert_same_translations(translator.translate_nbest(LINES, nbest=NBEST, **shape), expected)


@pytest.mark.parametrize("line", [0, LINES.index("")])
def test_another_text_would_be_noticed(expected: Found, line: int) -> None:
    other = [list(best) for best in expected]
    other[line][0] = replace(other[line][0], text="another")
    with pytest.raises(AssertionError, match=f"line {line}, rank 0"):
        assert_same_translations(other, expected)


def test_another_order(translator: Translator, expected: Found) -> None:
    order = random.Random(5).sample(range(len(LINES)), len(LINES))
    found = translator.translate_nbest([LINES[n] for n in order], nbest=NBEST, buffer_lines=6)
    assert_same_translations(found, [expected[n] for n in order])


def test_more_threads(translator: Translator, expected: Found) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        found = translator.translate_nbest(LINES, nbest=NBEST)
    finally:
        torch.set_num_threads(before)
    assert_same_translations(found, expected)


def test_kernels_of_an_older_processor(model: Path, expected: Found) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, model, str(NBEST)],
        input=json.dumps(LINES),
        env={**os.environ, **OLD_KERNELS},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    kernels, found = json.loads(done.stdout)
    assert kernels in {"DEFAULT", "NO AVX"}  # as PyTorch 2.6 calls it
    assert_same_translations([[Translation(**one) for one in best] for best in found], expected)


def test_given_translations_score_alike_in_every_batch(translator: Translator) -> None:
    targets = sentences(len(LINES) + 3)[3:]
    together = translator.score(LINES, targets)
    for source, target, scored in zip(LINES, targets, together, strict=True):
        (alone,) = translator.score([source], [target])
        assert scored.tokens == alone.tokens
        assert scored.log_probability == close(alone.log_probability)
