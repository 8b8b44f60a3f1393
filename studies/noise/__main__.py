"""The command ``python -m studies.noise``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dragoman.cli.option_types import PATH, Number
from dragoman.cli.options import json_option
from dragoman.core.errors import DataError
from dragoman.workflows.progress import quiet_option, tell
from studies.command import StudyCommand, present
from studies.noise.making import RIGHT, Kind

_SHARE = Number(min=0, max=1)
_KEPT = Number(min=0, min_open=True, max=1)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def noise() -> None:
    """Noise of known kinds in a clean parallel corpus, and how much of it a filter finds."""


@noise.command(cls=StudyCommand, params=[quiet_option])
@click.argument("files", metavar="FILES...", type=PATH, nargs=-1, required=True)
@click.option("--source", help="Column, key or language of the source in FILES.")
@click.option("--target", help="Column, key or language of the target in FILES.")
@click.option("--output", metavar="DIRECTORY", type=PATH, required=True, help="Where to write.")
@click.option("--misaligned", type=_SHARE, default=0.0, help="Share with another pair's target.")
@click.option("--copied", type=_SHARE, default=0.0, help="Share whose target is the source.")
@click.option("--truncated", type=_SHARE, default=0.0, help="Share with half of the target.")
@click.option("--wrong-language", type=_SHARE, default=0.0, help="Share with a line of --other.")
@click.option("--other", metavar="FILE", type=PATH, help="The targets in another language.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
def make(
    *,
    files: tuple[Path, ...],
    source: str | None,
    target: str | None,
    output: Path,
    other: Path | None,
    seed: int,
    **shares: float,
) -> None:
    """Make shares of the pairs in FILES wrong.

    Writes pairs.jsonl.gz, whose key noise says what is wrong, right.jsonl.gz, the pairs of it that
    are right, and at last made.json.

    \b
    Example:
      python -m studies.noise make train.en train.de --misaligned 0.3 --output noisy
    """
    from dragoman.core.files import write_json
    from dragoman.text.corpora.corpus import read_pairs
    from dragoman.text.lines import read_lines
    from dragoman.workflows.material import Choice, find_part
    from studies.noise.making import add_noise, write_noisy

    part, sides = find_part(files, Choice(source, target))
    if not any(shares.values()):
        raise click.UsageError("name a share of noise, such as --misaligned 0.3")
    wanted: dict[Kind, float] = {kind: share for kind, share in shares.items() if share}  # type: ignore[misc]  # the options are the kinds
    others = None if other is None else list(read_lines(other))
    pairs = add_noise(list(read_pairs(part)), wanted, seed, others)
    right = [pair for pair in pairs if pair.kind == RIGHT]
    write_noisy(output / "pairs.jsonl.gz", pairs, sides)
    write_noisy(output / "right.jsonl.gz", right, sides)
    write_json(output / "made.json", {"pairs": len(pairs), "right": len(right), "seed": seed})
    tell(f"{len(pairs) - len(right):,} of {len(pairs):,} pairs are wrong: {output}/pairs.jsonl.gz")


@noise.command(cls=StudyCommand, params=[quiet_option])
@click.argument("pairs", metavar="PAIRS", type=PATH)
@click.argument("scores", metavar="SCORES", type=PATH)
@click.option("--keep", type=_KEPT, required=True, help="Share of the pairs that is kept.")
@click.option("--output", metavar="FILE", type=PATH, help="Also write the result as JSON.")
@json_option
def caught(pairs: Path, scores: Path, keep: float, output: Path | None, as_json: bool) -> None:
    """Compare what 'dragoman filter' wrote into SCORES with the noise in PAIRS.

    \b
    Example:
      python -m studies.noise caught noisy/pairs.jsonl.gz kept.tsv.scores/pairs.jsonl.gz --keep 0.7
    """
    import numpy as np

    from dragoman.text.formats import FORMATS
    from dragoman.text.lines import read_lines
    from studies.noise.caught import caught as compared

    kinds = [pair.target for pair in FORMATS["jsonl"].read([pairs], ("noise", "noise"))]
    try:
        rows = [json.loads(line) for line in read_lines(scores)]
        lines = [row.get("line") for row in rows]
    except (ValueError, AttributeError):
        lines = []
    if lines != list(range(1, len(kinds) + 1)):
        raise DataError(f"{scores}: not the scores of {pairs}; score that file")

    def column(name: str) -> list[float]:
        """Minus a cross-entropy, or how unusual a length is; lowest where there is none."""
        return [-abs(row[name]) if row[name] is not None else -np.inf for row in rows]

    parts = {name: np.array(column(name)) for name in ("forward", "reverse")}
    parts["their mean"] = (parts["forward"] + parts["reverse"]) / 2
    if "excess_length" in rows[0]:
        parts["length"] = np.array(column("excess_length"))
    fit = np.array([row["problem"] is None for row in rows])
    found = compared(np.array([row["score"] for row in rows]), kinds, keep, parts, fit)
    present(found.to_json(), found.table, output, as_json=as_json)


if __name__ == "__main__":
    noise()
