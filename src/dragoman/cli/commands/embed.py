"""The command ``dragoman embed``: train, map, score and translate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dragoman.cli import declare
from dragoman.cli.commands.embed_train import train
from dragoman.cli.commands.translation import input_lines, keep_texts
from dragoman.cli.options import (
    PATH,
    Number,
    check_no_input,
    input_option,
    is_given,
    json_option,
    output_option,
)
from dragoman.cli.translated_lines import write_lines
from dragoman.workflows.progress import counting, tell
from dragoman.workflows.results import print_json

_words_option = declare.option(
    "--words N",
    "Read only the N most frequent words of each file.  [default: all]",
    click.IntRange(min=1),
    name="maximum",
)
_neighbours_option = declare.option(
    "--neighbours K",
    "Number of neighbours by which CSLS recognises hubs.",
    click.IntRange(min=1),
    default=10,
)


@click.group()
def embed() -> None:
    """Embeddings of two languages in one space, from text without translations.

    \b
    Example: German and English words, word by word
      dragoman embed train de.txt.gz --output embeddings/de.vec.gz
      dragoman embed train en.txt.gz --output embeddings/en.vec.gz
      dragoman embed map embeddings/de.vec.gz embeddings/en.vec.gz --output mapped
      dragoman embed translate mapped/de.vec.gz mapped/en.vec.gz < input.txt
    """


embed.add_command(train)


@embed.command("map")
@click.argument("source", metavar="SOURCE", type=PATH)
@click.argument("target", metavar="TARGET", type=PATH)
@declare.option(
    "--output DIRECTORY",
    "Directory for the mapped vectors; both files keep their names there.",
    PATH,
    required=True,
)
@declare.option(
    "--seed",
    "The first dictionary: words that both languages write alike, numbers, or words whose "
    "similarities are distributed alike.  [default: identical]",
    click.Choice(["identical", "numerals", "nothing"]),
)
@declare.option(
    "--seed-dictionary FILE",
    "The first dictionary: a word and its translation per line, tab-separated, or the index "
    "of a dictd dictionary.",
    PATH,
    name="dictionary",
)
@declare.flag("--no-self-learning", "Use the first dictionary as it is, only once.")
@_words_option
@declare.option(
    "--induced-words N",
    "Induce the dictionary from the N most frequent words; time grows with the square of N.",
    click.IntRange(min=10),
    default=20_000,
)
@declare.option(
    "--patience N",
    "Iterations without improvement before more candidates are considered.",
    click.IntRange(min=1),
    default=50,
)
@declare.option(
    "--kept SHARE",
    "Share of the candidates that are considered at first.",
    Number(0, 1, min_open=True),
    default=0.1,
)
@_neighbours_option
@declare.option("--random-seed", "Random seed.", click.IntRange(min=0), default=1)
@json_option
def map_(
    *,
    source: Path,
    target: Path,
    output: Path,
    seed: str | None,
    dictionary: Path | None,
    no_self_learning: bool,
    maximum: int | None,
    random_seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Map the vectors of SOURCE and TARGET into one space, by self-learning (VecMap).

    \b
    Examples:
      dragoman embed map de.vec.gz en.vec.gz --output mapped
      dragoman embed map de.vec.gz en.vec.gz --seed nothing --induced-words 5000 --output mapped
      dragoman embed map de.vec.gz en.vec.gz --seed-dictionary de-en.tsv --output mapped
    """
    if seed is not None and dictionary is not None:
        raise click.UsageError("--seed and --seed-dictionary are two first dictionaries; name one")
    for name in ("induced_words", "patience", "kept", "neighbours", "random_seed"):
        if no_self_learning and is_given(name):
            option = name.replace("_", "-")
            raise click.UsageError(
                f"--no-self-learning: --{option} is of self-learning; leave out one of the two"
            )
    from dragoman.core.config import parse
    from dragoman.techniques.embedding.mapping import Mapping
    from dragoman.techniques.embedding.self_learning import SelfLearningConfig

    values = {"seed": random_seed, "words": options.pop("induced_words"), **options}
    learning = None if no_self_learning else parse(SelfLearningConfig, values, "embed map")
    kind = None if dictionary is not None else seed or "identical"
    mapping = Mapping(source, target, output, kind, dictionary, learning, maximum)  # type: ignore[arg-type]  # click checks it
    with counting("mapping", "iterations") as progress:
        said = mapping.carry_out(progress)
    if as_json:
        print_json(said)
        return
    learned = f", {said['iterations']} iterations" if learning is not None else ""
    tell(f"{' and '.join(said['output'])}: from {said['seed_pairs']:,} word pairs{learned}")


@embed.command()
@click.argument("source", metavar="SOURCE", type=PATH)
@click.argument("target", metavar="TARGET", type=PATH)
@declare.option(
    "--dictionary FILE",
    "A word and its translation per line, tab-separated or as MUSE's; or the index of a dictd "
    "dictionary such as /usr/share/dictd/freedict-deu-eng.index.",
    PATH,
    required=True,
)
@declare.option(
    "--asked N", "Ask for the N most frequent words only.", click.IntRange(min=1), default=1500
)
@_words_option
@_neighbours_option
@json_option
def score(
    *,
    source: Path,
    target: Path,
    dictionary: Path,
    asked: int,
    maximum: int | None,
    neighbours: int,
    as_json: bool,
) -> None:
    """Measure how many words mapped vectors translate as a dictionary does.

    Prints precision at 1 and at 5, by CSLS and by plain similarity, over the dictionary's words
    that have a vector and at least one translation with a vector.

    \b
    Example:
      dragoman embed score mapped/de.vec.gz mapped/en.vec.gz \\
        --dictionary /usr/share/dictd/freedict-deu-eng.index
    """
    from dragoman.core.errors import DataError
    from dragoman.techniques.embedding.accuracy import word_accuracy
    from dragoman.techniques.embedding.vectors_origin import read_origin
    from dragoman.text.terms.bilingual_dictionary import read_dictionary
    from dragoman.text.word_vectors import read_vectors

    kinds = [read_origin(path).tokens for path in (source, target)]
    if kinds.count("pieces") == 1:
        raise DataError(
            f"{source} has vectors of {kinds[0]}, {target} of {kinds[1]}; train both alike"
        )
    one, other = (read_vectors(path, maximum=maximum) for path in (source, target))
    entries = read_dictionary(dictionary, one.words)
    found = word_accuracy(
        one, other, entries, str(dictionary), maximum=asked, neighbours=neighbours
    )
    if as_json:
        print_json(found.to_json())
        return
    for name, precision in (("CSLS", found.csls), ("nearest", found.nearest)):
        click.echo(f"{name:<8} P@1 {precision.p1:5.1f}   P@5 {precision.p5:5.1f}")
    click.echo(
        f"{found.asked:,} words asked; of {found.known:,} words of the dictionary with a vector "
        f"{found.answerable:,} have a translation with one"
    )


@embed.command()
@click.argument("source", metavar="SOURCE", type=PATH)
@click.argument("target", metavar="TARGET", type=PATH)
@input_option
@output_option
@_words_option
@_neighbours_option
def translate(
    *,
    source: Path,
    target: Path,
    inputs: tuple[Path, ...],
    output: Path | None,
    maximum: int | None,
    neighbours: int,
) -> None:
    """Translate lines word by word with mapped vectors: a baseline for any translator.

    Each word becomes the nearest one by CSLS; word order stays, and what has no vector is copied.

    \b
    Example:
      echo "Zwei Hunde" | dragoman embed translate mapped/de.vec.gz mapped/en.vec.gz
    """
    from dragoman.core.errors import DataError
    from dragoman.techniques.embedding.vectors_origin import read_origin
    from dragoman.techniques.embedding.word_by_word import WordByWord
    from dragoman.text.word_vectors import read_vectors
    from dragoman.text.words import space_spans, word_spans

    keep_texts(inputs, {"output": output})
    if output is not None:
        check_no_input(output, [source, target])
    tokens, others = (read_origin(path).tokens for path in (source, target))
    if "pieces" in (tokens, others):
        path = source if tokens == "pieces" else target
        raise DataError(
            f"{path}: vectors of pieces, which are no words; train without --vocabulary"
        )
    one, other = (read_vectors(path, maximum=maximum) for path in (source, target))
    spans = space_spans if tokens == "spaces" else word_spans
    translator = WordByWord(one, other, spans, neighbours)
    write_lines(output, translator.translate(input_lines(inputs)))
