"""The command ``python -m studies.chart_parser``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.cli.option_types import PATH
from dragoman.cli.options import check_no_input, json_option
from dragoman.text.formats.trees import Trees
from dragoman.text.lines import COMPRESSIONS
from dragoman.workflows.progress import counting, quiet_option, tell
from dragoman.workflows.results import print_json
from studies.command import StudyCommand

if TYPE_CHECKING:
    from dragoman.core.constituency import Tree
    from studies.chart_parser.parser import Parser

_TREES = tuple(name + packed for name in Trees.suffixes for packed in ("", *COMPRESSIONS))


@click.command(
    "chart_parser",
    cls=StudyCommand,
    params=[quiet_option],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.argument("treebank", type=PATH)
@click.option(
    "--input",
    "file",
    metavar="FILE",
    type=PATH,
    required=True,
    help="Trees, whose sentences are parsed and scored, or sentences, one in a line.",
)
@click.option(
    "--vertical",
    type=click.IntRange(1, 9),
    default=2,
    show_default=True,
    help="Labels of a constituent or tag: its own and those of its nearest ancestors.",
)
@click.option(
    "--horizontal",
    type=click.IntRange(0, 99),
    default=2,
    show_default=True,
    help="Left siblings on which a child depends.",
)
@click.option("--tokenize", is_flag=True, help="Split ordinary English text into words first.")
@click.option(
    "--max-words",
    type=click.IntRange(min=1),
    default=150,
    show_default=True,
    help="Longer sentences of text without trees are left empty.",
)
@click.option("--output", metavar="FILE", type=PATH, help="Write the trees, one in a line.")
@json_option
def chart_parser(
    *,
    treebank: Path,
    file: Path,
    vertical: int,
    horizontal: int,
    tokenize: bool,
    max_words: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Learn a grammar from the trees of TREEBANK and parse the sentences of FILE.

    If FILE has trees (.trees or .mrg), its sentences are parsed and the result is scored; otherwise
    each of its lines is a sentence, as for dragoman parse.  The grammar is probabilistic,
    context-free and Markovised (Klein and Manning 2003); the most probable tree is found exactly.
    A sentence that has none gets a flat one.

    \b
    Examples:
      python -m studies.chart_parser train.trees.gz --input test.trees.gz
      python -m studies.chart_parser train.trees.gz --input text.en --tokenize --output text.trees
    """
    from dragoman.core.errors import ConfigError
    from studies.chart_parser.binarisation import Markovisation
    from studies.chart_parser.parser import Parser, read_treebank

    gold = read_treebank(file) if file.name.endswith(_TREES) else None
    if gold is None and output is None:
        raise ConfigError(f"{file}: has no trees to score against; name --output for its trees")
    if gold is not None and tokenize:
        raise ConfigError(f"--tokenize: {file} has trees, whose words are known; leave it out")
    if output is not None:
        check_no_input(output, [file, treebank])
    sentences = [tree.words for tree in gold] if gold is not None else _sentences(file, tokenize)
    parser = Parser.trained(read_treebank(treebank), Markovisation(vertical, horizontal))
    longest = max_words if gold is None else None
    with counting("parsing", "sentences", len(sentences)) as show:
        parsed = _Parsed.of(parser, sentences, longest, show)
    if output is not None:
        _write(output, parsed.trees)
    facts = {**parser.size(), "sentences": len(sentences), **parsed.counts()}
    scores = {} if gold is None else _scores(parsed.trees, gold)
    if as_json:
        print_json({**facts, "scores": scores})
    else:
        for name, value in facts.items():
            click.echo(f"{name.replace('_', ' '):<20} {value:>8,}")
        for name, score in scores.items():
            click.echo(f"{name.replace('_', ' '):<20} {score:>8.2f}")
    if output is not None:
        tell(f"written: {output}")


class _Parsed:
    """Trees of sentences; None for those that are empty or too long."""

    def __init__(self) -> None:
        self.trees: list[Tree | None] = []
        self.flat = self.left_out = 0

    @classmethod
    def of(
        cls,
        parser: Parser,
        sentences: list[list[str]],
        longest: int | None,
        show: Callable[[int], object],
    ) -> _Parsed:
        """Parse them."""
        found = cls()
        for number, words in enumerate(sentences, 1):
            if not words or (longest is not None and len(words) > longest):
                found.left_out += 1
                found.trees.append(None)
            elif (tree := parser.parse(words)) is not None:
                found.trees.append(tree)
            else:
                found.flat += 1
                found.trees.append(parser.flat(words))
            show(number)
        return found

    def counts(self) -> dict[str, int]:
        """Sentences that have no tree of the grammar."""
        return {"flat": self.flat, "left_out": self.left_out}


def _sentences(file: Path, tokenize: bool) -> list[list[str]]:
    from dragoman.core.constituency import escaped
    from dragoman.text.lines import read_lines
    from dragoman.text.penn_tokenizer import penn_words

    def words(line: str) -> list[str]:
        return penn_words(line) if tokenize else [escaped(word) for word in line.split()]

    return [words(line) for line in read_lines(file)]


def _scores(trees: list[Tree | None], gold: list[Tree]) -> dict[str, float]:
    """Percentages by metric."""
    from dragoman.evaluation.metric_names import BUILT_IN
    from dragoman.evaluation.metrics import EvaluationConfig, build_metric, metrics_of

    def measured() -> Iterator[tuple[str, float]]:
        found = [str(tree or "") for tree in trees]
        references = [[str(tree) for tree in gold]]
        for name in metrics_of("trees", BUILT_IN):
            metric = build_metric(name, EvaluationConfig())
            yield name, round(metric.corpus_score(found, references).score, 4)

    return dict(measured())


def _write(output: Path, trees: list[Tree | None]) -> None:
    from dragoman.text.lines import write_text

    with write_text(output) as stream:
        stream.writelines(f"{tree or ''}\n" for tree in trees)


if __name__ == "__main__":
    chart_parser()
