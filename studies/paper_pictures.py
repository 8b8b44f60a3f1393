"""Pictures of docs/paper.md: sinusoidal positions and the learning rate of equation 3.

python -m studies.paper_pictures --output docs/images
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.core.files import make_directory
from dragoman.models.layers.positions import sinusoids
from dragoman.training.schedule import ScheduleConfig, learning_rate
from dragoman.workflows.progress import quiet_option, tell
from dragoman.workflows.reports.figures import write_picture
from studies.command import StudyCommand

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "positions-and-rate.svg"
_POSITIONS, _WIDTH, _STEPS = 100, 128, 40_000
_RATES = ((512, 4000), (512, 8000), (256, 4000))  # of d_model and warm-up steps, as usually shown


def picture() -> Figure:
    """Both panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3), layout="constrained")
    positions, rates = figure.subplots(1, 2)
    _draw_positions(positions)
    _draw_rates(rates)
    return figure


def _draw_positions(axes: Axes) -> None:
    table = sinusoids(_POSITIONS, _WIDTH).numpy()
    axes.pcolormesh(table, cmap="RdBu", vmin=-1, vmax=1, rasterized=True)
    axes.set(title=f"positions (d_model {_WIDTH})", xlabel="dimension", ylabel="position")


def _draw_rates(axes: Axes) -> None:
    steps = range(1, _STEPS, 50)
    for d_model, warmup in _RATES:
        config = ScheduleConfig(warmup_steps=warmup)
        rates = [learning_rate(config, step, d_model, None) for step in steps]
        axes.plot(steps, rates, label=f"d_model {d_model}, warm-up {warmup:,}")
    axes.set(title="learning rate (equation 3)", xlabel="step", ylim=(0, None))
    ticks = range(0, _STEPS + 1, 10_000)
    axes.set_xticks(ticks, [f"{step:,}" for step in ticks])
    axes.legend()


@click.command(cls=StudyCommand, params=[quiet_option])
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), required=True)
def paper_pictures(output: Path) -> None:
    """Draw the pictures of docs/paper.md that need no model.

    \b
    Example:
      python -m studies.paper_pictures --output docs/images
    """
    make_directory(output)
    write_picture(picture(), output / NAME, text_as_paths=True)
    tell(f"written: {output / NAME}")


if __name__ == "__main__":
    paper_pictures()
