"""The command ``dragoman embed``: train, map, score and translate."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from dragoman.cli import declare
from dragoman.cli.commands.embed_train import train
from dragoman.cli.commands.translation import input_lines, keep_texts
from dragoman.cli.option_types import PATH
from dragoman.cli.options import check_no_input, input_option, is_given, json_option, output_option
from dragoman.cli.translated_lines import write_lines
from dragoman.workflows.progress import counting, tell
from dragoman.workflows.results import print_json

_words_option = declare.options("""
    --words N: 1 <= int as maximum
        Read only the N most frequent words of each file.  [default: all]
""")
_neighbours_option = declare.options("""
    --neighbours K: 1 <= int = 10
        Number of neighbours by which CSLS recognises hubs.
""")


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
@declare.options("""
    --output DIRECTORY: PATH required
        Directory for the mapped vectors; both files keep their names there.
    --seed: identical | numerals | nothing
        The first dictionary: words that both languages write alike, numbers, or words whose
        similarities are distributed alike.  [default: identical]
    --seed-dictionary FILE: PATH as dictionary
        The first dictionary: a word and its translation per line, tab-separated, or the index of a
        dictd dictionary.
    --no-self-learning
        Use the first dictionary as it is, only once.
""")
@_words_option
@declare.options("""
    --induced-words N: 10 <= int = 20000
        Induce the dictionary from the N most frequent words; time grows with the square of N.
    --patience N: 1 <= int = 50
        Iterations without improvement before more candidates are considered.
    --kept SHARE: 0 < number <= 1 = 0.1
        Share of the candidates that are considered at first.
""")
@_neighbours_option
@declare.options("""
    --random-seed: 0 <= int = 1
        Random seed.
""")
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
@declare.options("""
    --dictionary FILE: PATH required
        A word and its translation per line, tab-separated or as MUSE's; or the index of a dictd
        dictionary such as /usr/share/dictd/freedict-deu-eng.index.
    --asked N: 1 <= int = 1500
        Ask for the N most frequent words only.
""")
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
    from dragoman.techniques.embedding.vectors_origin import read_origin
    from dragoman.techniques.embedding.word_translation import word_accuracy
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
        print_json(asdict(found))
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
    from dragoman.techniques.embedding.word_translation import WordByWord
    from dragoman.text.tokens import space_spans, word_spans
    from dragoman.text.word_vectors import read_vectors

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
