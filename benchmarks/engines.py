"""Our engine beside CTranslate2 and Marian: speed, and whether the text is the same.

    engines.py speed --source FILE     fresh weights, outputs of 15 pieces, beam 4
    engines.py run RUN --source FILE   a trained run: equal lines, and speed

Speed is sentences per second of processor time on one thread, the best of ``--rounds``, loading
excluded: other work on the machine hardly changes it.  ``speed`` needs some thousand lines, from
which the vocabulary is made; ``--size big`` has the sizes of the paper's big model.  ``run``
translates by PyTorch, by what ``--engine auto`` does once CTranslate2 is chosen, and by each engine
in each precision, and counts the lines that differ from PyTorch's in float32, and those whose
scores differ by less than 0.001 (ties); with ``--reference``, BLEU is added.

``--marian PYTHON`` adds Marian's own program, for models that ``dragoman export --to marian``
writes; PYTHON is the interpreter of an environment with ``pymarian``.  Its outputs cannot be forced
to a length, so ``speed`` then translates lines of 14 pieces alone, which all end at the limit.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import marian_program
import torch
from sacrebleu import corpus_bleu
from shared_material import SIZES, transformer

from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.saved.model import load_model, save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.system_parts import TermsConfig
from dragoman.text.lines import read_lines
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
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
MARIANS = {"timescales": "tensor2tensor", "begin": "zeros"}
SEARCHED_ALONE = TermsConfig(protect=())


def speed(
    size: str,
    whole: Sequence[str],
    lines: int,
    rounds: int,
    precisions: Sequence[str] = (),
    marian: Path | None = None,
) -> Iterator[str]:
    """Rows of Markdown: each engine with fresh weights.

    Args:
        precisions: those to measure, by default all.
    """
    text = whole[:lines]
    with TemporaryDirectory() as folder:
        path = Path(folder) / size
        vocabularies = _write_fresh(path, size, whole)
        if marian is not None:
            ids = vocabularies.source.encode_batch(whole)
            equal = (line for line, one in zip(whole, ids, strict=True) if len(one) == LENGTH - 1)
            text = list(islice(equal, lines))
        first = 0.0
        for engine, precision in ENGINES:
            if precisions and precision not in precisions:
                continue
            options: dict[str, Any] = {"engine": engine, "precision": precision}
            if engine == "ctranslate2":
                options["workers"] = 1
            with Translator.load(path, device="cpu", terms=SEARCHED_ALONE, **options) as opened:
                _, rate = timed(opened, text, rounds)
            first = first or rate
            yield f"| {size} | {engine} | {precision} | {rate:.1f} | {rate / first:.2f}x |"
        for python, precision in _marians(marian):
            _, rate = marian_program.timed(
                python, path, text, precision, rounds, endless=True, max_length_factor=1
            )
            yield f"| {size} | marian | {precision} | {rate:.1f} | {rate / first:.2f}x |"
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


def _write_fresh(path: Path, size: str, text: Sequence[str]) -> Vocabularies:
    """A model with random weights, whose outputs all have the same length."""
    vocabularies = train_vocabularies(
        [(line, line) for line in text], VocabularyConfig(size=PIECES), seed=1
    )
    torch.manual_seed(1)
    sizes = BIG if size == "big" else transformer(size)
    config = TransformerConfig.model_validate({**sizes, **MARIANS})
    model = Transformer(config, len(vocabularies.source), len(vocabularies.target))
    weights = {name: tensor.detach() for name, tensor in model.named_parameters()}
    search = {"minimum_length": LENGTH, "maximum_length": LENGTH, "degenerate": "keep"}
    save_model(path, SavedConfig(model=config, search=search), vocabularies, weights)
    return vocabularies


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
    marian: Path | None = None,
    **options: Any,
) -> Iterator[str]:
    """Rows of Markdown: a run by the engines, beside the texts of PyTorch in float32."""
    with Translator.load(run, device="cpu", engine="pytorch", **options) as own:
        expected, first = timed(own, text, rounds)
    bleu = _bleu([one.text for one in expected], reference)
    yield f"| pytorch | float32 | {first:.1f} | 1.00x | | | {bleu} |"
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
            f"| {ties} | {_bleu([one.text for one in found], reference)} |"
        )
    for python, precision in _marians(marian):
        texts, rate = marian_program.timed(python, run, text, precision, rounds)
        others = sum(ours.text != theirs for ours, theirs in zip(expected, texts, strict=True))
        yield (
            f"| marian | {precision} | {rate:.1f} | {rate / first:.2f}x | {others} | "
            f"| {_bleu(texts, reference)} |"
        )


def _marians(python: Path | None) -> list[tuple[Path, str]]:
    return [] if python is None else [(python, one) for one in marian_program.PRECISIONS]


def _bleu(found: Sequence[str], reference: Sequence[str] | None) -> str:
    return "" if reference is None else f"{corpus_bleu(found, [list(reference)]).score:.2f}"


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
    fresh.add_argument("--precision", action="append", default=[], help="only this one")
    trained.add_argument("run", type=Path)
    trained.add_argument("--protect", action="store_true", help="as 'dragoman translate' does")
    trained.add_argument("--reference", type=Path, help="its lines, for BLEU")
    for part in (fresh, trained):
        part.add_argument("--source", type=Path, required=True)
        part.add_argument("--lines", type=int, default=500)
        part.add_argument("--rounds", type=int, default=2)
        part.add_argument("--marian", type=Path, help="a Python that has pymarian")
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
        rows = same_text(given.run, whole, given.rounds, reference, given.marian, **options)
        for row in rows:
            print(row, flush=True)
        return
    print("| size | engine | precision | sentences/s | |\n|---|---|---|---:|---:|")
    for size in given.size or SIZES:
        for row in speed(size, whole, given.lines, given.rounds, given.precision, given.marian):
            print(row, flush=True)


if __name__ == "__main__":
    main()
