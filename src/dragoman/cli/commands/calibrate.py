"""The command that calibrates the confidence of translations: calibrate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import declare
from dragoman.cli.commands.tuning import models_and_text
from dragoman.cli.option_types import PATH
from dragoman.cli.options import check_apart, check_replaceable, dev_set_option, json_option
from dragoman.cli.search_options import search_options
from dragoman.cli.system_options import described, described_options
from dragoman.core.files import make_directory
from dragoman.core.wording import in_shell
from dragoman.workflows.progress import counting, tell
from dragoman.workflows.results import print_json

if TYPE_CHECKING:
    from dragoman.evaluation.criterion import Criterion
    from dragoman.saved.system import TranslationSystem
    from dragoman.translation.calibration_fitting import MeasuredConfidence
    from dragoman.workflows.tuning import DevText


@click.command()
@click.argument("paths", metavar="[MODEL]... [SOURCE REFERENCE]", type=PATH, nargs=-1)
@declare.options("""
    --above CHRF: 0 <= number < 100
        A translation is right if its chrF is above this.  [default: 60]
    --exact
        A translation is right if it equals the reference.
    --check
        Write nothing, and measure the present calibration, such as on a test set.
    --picture FILE.svg: FILE
        Draw the reliability diagram.
""")
@dev_set_option
@declare.options("""
    --output FILE: FILE
        Write the calibration to FILE, for 'translate --calibration FILE'.  [default:
        confidence.json beside the weights of MODEL]
    --calibration FILE: PATH
        With --check: the calibration to measure.  [default: that of MODEL]
""")
@search_options
@json_option
@described_options
def calibrate(
    paths: tuple[Path, ...],
    above: float | None,
    *,
    exact: bool,
    check: bool,
    picture: Path | None,
    dev_set: str | None,
    output: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Learn how confident MODEL may be of its translations, from lines with references.

    MODELs are directories, as for translate; SOURCE and REFERENCE are files that they were not
    trained on, by default the dev set of the run.  Afterwards 'translate --confidence' prints the
    probability that a translation is right.  Calibrate with the options that you will give to
    translate.

    \b
    Examples:
      dragoman calibrate runs/my
      dragoman calibrate models/my dev.en dev.de --above 70
      dragoman calibrate models/my test.en test.de --check --picture reliability.svg
      dragoman calibrate models/a models/b dev.en dev.de --output both.json
    """
    from dragoman.saved.calibration import write_calibration
    from dragoman.workflows.reports.score_tables import draw_reliability, reliability_table
    from dragoman.workflows.tuning import text_of_files, text_of_run

    models, texts = models_and_text(paths)
    _check_options(options, check=check, exact=exact, above=above, output=output, picture=picture)
    if texts and dev_set:
        raise click.UsageError("--dev-set names a dev set of the run; leave out SOURCE REFERENCE")
    if check:
        options["confidence"] = True
    system = described(models, options)
    written = None if check else _place(system, output, texts)
    text = text_of_files(system, *texts, is_test=check) if texts else text_of_run(system, dev_set)
    if check:
        measured = _checked(system, text)
    else:
        measured = _calibrated(system, text, _criterion(above, exact=exact))
    if measured.left_out:
        tell(f"{measured.left_out:,} lines cannot be translated and are left out")
    if written is not None:
        write_calibration(written, measured.calibration)
    if picture is not None:
        draw_reliability(measured.reliability, str(measured.calibration.right), picture)
    if as_json:
        print_json(_values(measured, text, written))
        return
    click.echo(_heading(measured, text, is_new=written is not None))
    click.echo(reliability_table(measured.reliability))
    if written is not None:
        given = "" if system.adapter is None else f" --adapter {in_shell(system.adapter)}"
        given += "" if output is None else f" --calibration {in_shell(written)}"
        click.echo(f"\nWritten: {written}")
        click.echo(f"Use it: dragoman translate MODEL --confidence{given} < input.txt")


def _check_options(
    options: dict[str, Any],
    *,
    check: bool,
    exact: bool,
    above: float | None,
    output: Path | None,
    picture: Path | None,
) -> None:
    """Refuse options that contradict one another, before anything is translated."""
    if exact and above is not None:
        raise click.UsageError("--exact and --above exclude each other; leave one of them out")
    if check and (exact or above is not None or output is not None):
        raise click.UsageError(
            "--check measures the calibration as it is; leave out --above, --exact and --output"
        )
    if not check and options["calibration"] is not None:
        raise click.UsageError("--calibration is read with --check; --output names a new one")
    check_apart(output, picture, "--picture")
    if picture is not None and picture.suffix != ".svg":
        raise click.UsageError(f"--picture {picture}: pictures are SVG; name it FILE.svg")
    if picture is not None:
        from dragoman.workflows.reports import plots  # noqa: F401 - missing matplotlib is reported now

        make_directory(picture.parent, picture)


def _place(system: TranslationSystem, output: Path | None, texts: tuple[Path, ...]) -> Path:
    """The place of the calibration; refused now if it cannot be written at the end."""
    from dragoman.saved.calibration import default_output, is_calibration

    if output is None:
        return default_output(system)
    check_replaceable(output, texts, is_calibration, "is no calibration", "my.json")
    return output


def _criterion(above: float | None, *, exact: bool) -> Criterion:
    from dragoman.evaluation.criterion import Criterion

    if exact:
        return Criterion(kind="exact")
    return Criterion() if above is None else Criterion(above=above)


def _calibrated(
    system: TranslationSystem, text: DevText, criterion: Criterion
) -> MeasuredConfidence:
    from dragoman.techniques.calibrating import calibrate as calibrate_system

    with counting("calibrating", "lines", len(text.sources)) as count:
        return calibrate_system(
            system, text.sources, text.references, criterion, name=text.name, progress=count
        )


def _checked(system: TranslationSystem, text: DevText) -> MeasuredConfidence:
    from dragoman.techniques.calibrating import measure_reliability

    with counting("measuring", "lines", len(text.sources)) as count:
        return measure_reliability(system, text.sources, text.references, count)


def _heading(measured: MeasuredConfidence, text: DevText, *, is_new: bool) -> str:
    how = ", cross-validated" if is_new else f", calibrated on {measured.calibration.text}"
    return f"{text.name}{how}\nright is: {measured.calibration.right}"


def _values(measured: MeasuredConfidence, text: DevText, written: Path | None) -> dict[str, Any]:
    calibration = measured.calibration
    return {
        "text": text.name,
        "right": calibration.right.model_dump(),
        "left_out": measured.left_out,
        "reliability": measured.reliability.to_json(),
        "calibrated_on": {"text": calibration.text, "lines": calibration.lines},
        "output": None if written is None else str(written),
    }
