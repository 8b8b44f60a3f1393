"""The command ``dragoman embed``: train, map, score and translate."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.commands.translation import keep_texts
from dragoman.cli.option_types import PATH
from dragoman.cli.options import (
    check_no_input,
    input_lines,
    input_option,
    is_given,
    json_option,
    output_option,
)
from dragoman.cli.translated_lines import write_lines
from dragoman.workflows.progress import counting, tell
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.text.vocabularies import Vocabulary

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


@embed.command()
@click.argument("texts", metavar="TEXT...", type=PATH, nargs=-1, required=True)
@declare.options("""
    --output FILE: FILE required
        File to write, in word2vec's text format; .gz, .xz or .zst compresses it.
    --vocabulary MODEL: PATH
        Learn vectors of the pieces of this model's or run's vocabulary instead of words.
    --side: source | target
        Vocabulary of MODEL, if it has two.
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
    from dragoman.techniques.embedding.learning import LearningConfig, learn, leaving_out, splitter
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
    from dragoman.core.errors import ConfigError
    from dragoman.text.vocabularies import Vocabularies
    from dragoman.training.warm_start import vocabularies_home

    vocabularies = Vocabularies.load(vocabularies_home(path))
    if side is None and not vocabularies.joint:
        raise ConfigError(f"{path}: has a vocabulary for each side; add --side source or target")
    return vocabularies.target if side == "target" else vocabularies.source


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
    accuracy = word_accuracy(
        one, other, entries, str(dictionary), maximum=asked, neighbours=neighbours
    )
    if as_json:
        print_json(asdict(accuracy))
        return
    for name, precision in (("CSLS", accuracy.csls), ("nearest", accuracy.nearest)):
        click.echo(f"{name:<8} P@1 {precision.p1:5.1f}   P@5 {precision.p5:5.1f}")
    click.echo(
        f"{accuracy.asked:,} words asked; of {accuracy.known:,} words of the dictionary with a "
        f"vector {accuracy.answerable:,} have a translation with one"
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
