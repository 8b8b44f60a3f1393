"""The command ``dragoman embed train``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import PATH
from dragoman.cli.options import check_no_input, json_option
from dragoman.workflows.progress import counting, tell
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.text.vocabularies.vocabulary import Vocabulary


@click.command()
@click.argument("texts", metavar="TEXT...", type=PATH, nargs=-1, required=True)
@declare.options("""
    --output FILE: FILE required
        File to write, in word2vec's text format; .gz, .xz or .zst compresses it.
    --vocabulary MODEL: PATH
        Learn vectors of the pieces of this model's or run's vocabulary instead of words.
    --side: source | target
        Which vocabulary of MODEL, if it has two.
    --held-out FILE...: PATH
        Leave out lines that also occur in this file; may be repeated.
    --split-at-spaces
        The text is already split into words.
    --lowercase
        Lowercase the text first.
    --kind: fasttext | word2vec = fasttext
        With or without character n-grams.
    --dimension N: 2 <= int <= 10000 = 300
        Dimension of the vectors: d_model of the model that they are to initialise.
    --epochs N: 1 <= int <= 10000 = 5
        Passes over the text.
    --window N: 1 <= int <= 1000 = 5
        Maximum distance between words that predict each other.
    --minimum-count N: 1 <= int = 5
        Words that occur less often get no vector.
    --sample SHARE: 0 <= number <= 1 = 0.0001
        Skip some occurrences of words that are more frequent than this; 0 skips none.
    --seed: 0 <= int <= 4294967295 = 1
        Seed.
    --workers N: 1 <= int <= 1024 = 1
        Threads; with more than one, the result differs from run to run.
""")
@json_option
def train(
    *,
    texts: tuple[Path, ...],
    output: Path,
    vocabulary: Path | None,
    side: str | None,
    held_out: tuple[Path, ...],
    split_at_spaces: bool,
    lowercase: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn embeddings of the words of TEXT, files of one language.

    With --vocabulary, they are embeddings of pieces, and training.embeddings initialises a model
    with them.

    \b
    Examples:
      dragoman embed train news.de.gz captions.de.gz --output de.vec.gz
      dragoman embed train de.gz en.gz --vocabulary runs/my --dimension 512 --output pieces.vec
    """
    if vocabulary is not None and (split_at_spaces or lowercase):
        raise click.UsageError(
            "--vocabulary decides how text is split; leave out --split-at-spaces and --lowercase"
        )
    if side is not None and vocabulary is None:
        raise click.UsageError("--side chooses a vocabulary; add --vocabulary MODEL")
    from dragoman.core.config import parse
    from dragoman.techniques.embedding.learning import (
        LearningConfig,
        learn,
        leaving_out,
        splitter,
    )
    from dragoman.techniques.embedding.vectors_origin import (
        InputDigest,
        Tokens,
        VectorsOrigin,
        check_place,
        origin_file,
        write_with_origin,
    )

    for written in (output, origin_file(output)):
        check_no_input(written, [*texts, *held_out])
    config = parse(LearningConfig, options, "embed train")
    pieces = None if vocabulary is None else _vocabulary(vocabulary, side)
    tokens: Tokens = "pieces" if pieces else "spaces" if split_at_spaces else "words"
    split = splitter(tokens, lowercase=lowercase, vocabulary=pieces)
    check_place(output)
    settings: dict[str, Any] = {}
    if held_out:
        split = leaving_out(split, held_out)
        settings["held_out"] = [InputDigest.of(file).model_dump() for file in held_out]
    with counting("learning embeddings", "lines") as progress:
        vectors, counts = learn(texts, split, config, progress)
    origin = VectorsOrigin(
        tokens=tokens,
        lowercase=lowercase,
        vocabulary=None if pieces is None else pieces.fingerprint,
        inputs=tuple(InputDigest.of(text) for text in texts),
        settings={"train": {**config.model_dump(), **settings, **counts}},
    )
    write_with_origin(output, vectors, origin)
    if as_json:
        print_json({"output": str(output), "vectors_of": tokens, "vectors": len(vectors), **counts})
    else:
        what = "pieces" if pieces else "words"
        tell(
            f"{output}: vectors of {len(vectors):,} {what}, of {counts['tokens']:,} in "
            f"{counts['lines']:,} lines"
        )


def _vocabulary(path: Path, side: str | None) -> Vocabulary:
    """The vocabulary of a model or run."""
    from dragoman.core.errors import ConfigError
    from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
    from dragoman.training.warm_start import vocabularies_home

    found = Vocabularies.load(vocabularies_home(path))
    if side is None and not found.joint:
        raise ConfigError(f"{path}: has a vocabulary for each side; add --side source or target")
    return found.target if side == "target" else found.source
