"""The command that chooses search settings on a dev set: tune."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.option_types import PATH
from dragoman.cli.options import check_replaceable, dev_set_option, json_option
from dragoman.cli.system_options import described, described_options
from dragoman.core.errors import ConfigError, DataError
from dragoman.core.wording import in_shell
from dragoman.workflows.progress import counting, tell
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.evaluation.metrics import EvaluationConfig
    from dragoman.saved.system import TranslationSystem
    from dragoman.workflows.tuning import DevText

CONFIDENCE_SAMPLES = 1000


@click.command()
@click.argument("paths", metavar="[MODEL]... [SOURCE REFERENCE]", type=PATH, nargs=-1)
@declare.options("""
    --try KEY=VALUE,VALUE... as tries
        Values of a setting, such as search.length_penalty=0.6,1.0 or language_model.weight=0.1,0.2;
        if repeated, every combination is tried.  [default: weights of the language model or,
        without one, length penalties]
    --metric: METRIC = bleu
        Metric that decides which settings are best.
    --tokenize: TOKENIZER
        Tokeniser of BLEU.  [default: that of the run, or else 13a]
""")
@dev_set_option
@declare.options("""
    --output FILE: FILE
        Write the system with the best settings to FILE, to be read with 'translate --system'.
""")
@json_option
@described_options
def tune(
    paths: tuple[Path, ...],
    tries: tuple[str, ...],
    *,
    metric: str,
    tokenize: str | None,
    dev_set: str | None,
    output: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Try search settings on a dev set and keep the best.

    MODELs are directories, as for translate; SOURCE and REFERENCE are files, by default the dev
    set of the run.  Each setting translates the whole dev set.  The unchanged settings come
    first; with them, a language model without --lm-weight has the weight 0.

    \b
    Examples:
      dragoman tune runs/my --lm runs/lm --output tuned.yaml
      dragoman translate --system tuned.yaml < input.txt
      dragoman tune runs/my --try search.length_penalty=0.6,1.0,1.4 --try search.beam=4,8
      dragoman tune models/a models/b dev.en dev.de --metric chrf
    """
    from dragoman.saved.system import is_description, write_system
    from dragoman.workflows.tuning import Tuning, read_grid, text_of_files, text_of_run
    from dragoman.workflows.tuning.grid import LM_WEIGHT
    from dragoman.workflows.tuning.trials import table

    models, texts = models_and_text(paths)
    is_weightless = options["language_model"] is not None and options["lm_weight"] is None
    if is_weightless:
        options["lm_weight"] = 0.0
    system = described(models, options)
    if tokenize is not None and metric != "bleu":
        raise click.UsageError("--tokenize is read by --metric bleu; choose it, or leave it out")
    if texts and dev_set:
        raise click.UsageError("--dev-set names a dev set of the run; leave out SOURCE REFERENCE")
    if output is not None:
        check_replaceable(
            output, texts, is_description, "describes no translation system", "tuned.yaml"
        )
    grid = read_grid(tries, has_language_model=system.language_model is not None)
    if is_weightless and LM_WEIGHT not in grid:
        raise ConfigError(
            "--lm: it takes no part in any setting; give its weight with --lm-weight, or try some "
            f"with --try {LM_WEIGHT}=0,0.1,0.2"
        )
    text = text_of_files(system, *texts) if texts else text_of_run(system, dev_set)
    tuning = Tuning(system, grid, text, _evaluation(system, text, metric, tokenize))
    tell(f"{len(tuning.settings)} settings, {len(text.sources):,} lines each")
    with counting("tuning", "lines", tuning.lines) as count:
        tuned = tuning.carry_out(count)
    if output is not None:
        write_system(output, tuned.system)
    if as_json:
        print_json({**tuned.to_json(), "output": None if output is None else str(output)})
        return
    click.echo(table(tuned))
    if output is not None:
        click.echo(f"\nWritten: {output}")
        click.echo(f"Use it: dragoman translate --system {in_shell(output)} < input.txt")


def models_and_text(paths: tuple[Path, ...]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Models, which are directories, and the two files after them, if any."""
    for path in paths:
        if not path.exists():
            raise DataError(f"{path}: no such model, run or file")
    models = tuple(path for path in paths if path.is_dir())
    texts = paths[len(models) :]
    if len(texts) not in {0, 2} or any(path.is_dir() for path in texts):
        raise click.UsageError(
            "after the MODELs name both SOURCE and REFERENCE, or neither, for the dev set of a run"
        )
    return models, texts


def _evaluation(
    system: TranslationSystem, text: DevText, metric: str, tokenize: str | None
) -> EvaluationConfig:
    """The run's evaluation settings with one metric and with intervals."""
    from dragoman.core.config import parse
    from dragoman.evaluation.metrics import EvaluationConfig
    from dragoman.workflows.tuning.dev_text import evaluation_of

    values = evaluation_of(system, text).model_dump()
    values |= {"metrics": [metric], "confidence_samples": CONFIDENCE_SAMPLES}
    if tokenize is not None:
        values["bleu_tokenize"] = tokenize
    return parse(EvaluationConfig, values, "tune")
