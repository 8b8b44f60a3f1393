"""Our engine beside CTranslate2: speed, and whether the text is the same.

    engines.py speed --source FILE     fresh weights, outputs of 15 pieces, beam 4
    engines.py run RUN --source FILE   a trained run: equal lines, and speed

Speed is sentences per second of processor time on one thread, the best of ``--rounds``, loading
excluded: other work on the machine hardly changes it.  ``speed`` needs some thousand lines, from
which the vocabulary is made; ``--size big`` has the sizes of the paper's big model.  ``run``
translates by PyTorch, by what ``--engine auto`` does once CTranslate2 is chosen, and by each engine
in each precision, and counts the lines that differ from PyTorch's in float32, and those whose
scores differ by less than 0.001 (ties); with ``--reference``, BLEU is added.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from sacrebleu import corpus_bleu
from shared_material import SIZES, transformer

from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.saved.model import load_model, save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.system_parts import TermsConfig
from dragoman.text.lines import read_lines
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.translation.engines import automatic, verdicts
from dragoman.translation.engines.ctranslate2_conversion import convert
from dragoman.translation.engines.verdicts import EngineTrial
from dragoman.translation.outputs import Translation
from dragoman.translation.translator import Translator

LENGTH, PIECES = 15, 8000
ENGINES: tuple[tuple[str, str], ...] = (
    ("pytorch", "float32"),
    ("pytorch", "bfloat16"),
    ("pytorch", "int8"),
    ("ctranslate2", "float32"),
    ("ctranslate2", "int8"),
)
OTHERS = (("auto", "float32"), *(pair for pair in ENGINES if pair != ("pytorch", "float32")))
BIG = {"encoder_layers": 6, "decoder_layers": 6, "d_model": 1024, "d_ff": 4096, "heads": 16}
SEARCHED_ALONE = TermsConfig(protect=())


def speed(size: str, whole: Sequence[str], lines: int, rounds: int) -> Iterator[str]:
    """Rows of Markdown: each engine with fresh weights."""
    text = whole[:lines]
    with TemporaryDirectory() as folder:
        path = Path(folder) / size
        _write_fresh(path, size, whole)
        first = None
        for engine, precision in ENGINES:
            options: dict[str, Any] = {"engine": engine, "precision": precision}
            if engine == "ctranslate2":
                options["workers"] = 1
            with Translator.load(path, device="cpu", terms=SEARCHED_ALONE, **options) as opened:
                _, rate = timed(opened, text, rounds)
            first = first or rate
            yield f"| {size} | {engine} | {precision} | {rate:.1f} | {rate / first:.2f}x |"
        yield f"| {size} | conversion | | {_conversion(path):.1f} s | |"


def timed(
    translator: Translator, text: Sequence[str], rounds: int
) -> tuple[list[Translation], float]:
    """The best translations, and sentences per second of processor time."""
    seconds = []
    translator.translate_nbest(text[:4])
    for _ in range(rounds):
        started = time.process_time()
        found = translator.translate_nbest(text)
        seconds.append(time.process_time() - started)
    return [best for best, *_ in found], len(text) / min(seconds)


def _write_fresh(path: Path, size: str, text: Sequence[str]) -> None:
    """A model with random weights, whose outputs all have the same length."""
    vocabularies = train_vocabularies(
        [(line, line) for line in text], VocabularyConfig(size=PIECES), seed=1
    )
    torch.manual_seed(1)
    config = TransformerConfig.model_validate(BIG if size == "big" else transformer(size))
    model = Transformer(config, len(vocabularies.source), len(vocabularies.target))
    weights = {name: tensor.detach() for name, tensor in model.named_parameters()}
    search = {"minimum_length": LENGTH, "maximum_length": LENGTH, "degenerate": "keep"}
    save_model(path, SavedConfig(model=config, search=search), vocabularies, weights)


def _conversion(path: Path) -> float:
    """Processor seconds of converting a model that was converted before."""
    saved = load_model(path, "cpu")
    for file in (path / "ctranslate2").iterdir():
        file.unlink()
    started = time.process_time()
    convert(path, saved.model, saved.vocabularies)
    return time.process_time() - started


def same_text(
    run: Path,
    text: Sequence[str],
    rounds: int,
    reference: Sequence[str] | None = None,
    **options: Any,
) -> Iterator[str]:
    """Rows of Markdown: a run by the engines, beside the texts of PyTorch in float32."""
    with Translator.load(run, device="cpu", engine="pytorch", **options) as own:
        expected, first = timed(own, text, rounds)
    yield f"| pytorch | float32 | {first:.1f} | 1.00x | | | {_bleu(expected, reference)} |"
    _always_chosen()
    for engine, precision in OTHERS:
        given: dict[str, Any] = {"engine": engine, "precision": precision, **options}
        if engine == "ctranslate2":
            given["workers"] = 1
        with Translator.load(run, device="cpu", **given) as other:
            other.translate(text[:2])
            found, rate = timed(other, text, rounds)
            assert engine != "auto" or (other.engine_choice or "").startswith("ctranslate2")
        different = [
            abs(ours.score - theirs.score)
            for ours, theirs in zip(expected, found, strict=True)
            if ours.text != theirs.text
        ]
        ties = sum(gap < automatic.NEAR for gap in different)
        yield (
            f"| {engine} | {precision} | {rate:.1f} | {rate / first:.2f}x | {len(different)} "
            f"| {ties} | {_bleu(found, reference)} |"
        )


def _bleu(found: Sequence[Translation], reference: Sequence[str] | None) -> str:
    if reference is None:
        return ""
    return f"{corpus_bleu([one.text for one in found], [list(reference)]).score:.2f}"


def _always_chosen() -> None:
    """Let CTranslate2 win from the second sentence on, whatever a trial finds."""
    automatic.FEW, automatic.ENOUGH, automatic.COMPARED = 1, 1, 1
    verdicts.LEAST_GAIN = 0.0
    vars(verdicts)["write_json"] = lambda *_: None  # users find no such verdict
    EngineTrial.is_won = property(lambda _: True)  # type: ignore[method-assign,assignment]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = parser.add_subparsers(dest="kind", required=True)
    fresh, trained = kinds.add_parser("speed"), kinds.add_parser("run")
    fresh.add_argument("--size", choices=[*SIZES, "big"], action="append")
    trained.add_argument("run", type=Path)
    trained.add_argument("--protect", action="store_true", help="as 'dragoman translate' does")
    trained.add_argument("--reference", type=Path, help="its lines, for BLEU")
    for part in (fresh, trained):
        part.add_argument("--source", type=Path, required=True)
        part.add_argument("--lines", type=int, default=500)
        part.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(1)
    whole = list(islice(read_lines(given.source), given.lines if given.kind == "run" else None))
    if given.kind == "run":
        options = {} if given.protect else {"terms": SEARCHED_ALONE}
        reference = given.reference
        if reference is not None:
            reference = list(islice(read_lines(reference), given.lines))
        print(
            "| engine | precision | sentences/s | | other texts | of which ties | BLEU |\n"
            "|---|---|---:|---:|---:|---:|---:|"
        )
        for row in same_text(given.run, whole, given.rounds, reference, **options):
            print(row, flush=True)
        return
    print("| size | engine | precision | sentences/s | |\n|---|---|---|---:|---:|")
    for size in given.size or SIZES:
        for row in speed(size, whole, given.lines, given.rounds):
            print(row, flush=True)


if __name__ == "__main__":
    main()
