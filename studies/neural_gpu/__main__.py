"""The command ``python -m studies.neural_gpu``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.cli.option_types import PATH, Number
from dragoman.cli.options import json_option
from dragoman.workflows.progress import counting, quiet_option
from studies.command import StudyCommand, present

if TYPE_CHECKING:
    from studies.neural_gpu.trial import Result

_MODELS = click.Choice(["neural-gpu", "extended", "transformer"])
_TASKS = click.Choice(["addition", "multiplication"])


@click.command(
    "neural_gpu",
    cls=StudyCommand,
    params=[quiet_option],
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.option("--model", type=_MODELS, default="neural-gpu", help="What learns.")
@click.option("--task", type=_TASKS, default="addition", help="What it learns.")
@click.option("--bits", type=click.IntRange(1, 64), default=10, help="Maximum bits in training.")
@click.option("--steps", type=click.IntRange(1), default=4000, help="Steps of training.")
@click.option("--batch", type=click.IntRange(1), default=32, help="Questions per step.")
@click.option("--rate", type=Number(0, min_open=True), default=0.005, help="Learning rate.")
@click.option("--noise", type=Number(0), default=0.0, help="Noise of gradients at the first step.")
@click.option("--maps", type=click.IntRange(1), default=24, help="Maps of a Neural GPU's memory.")
@click.option("--width", type=click.IntRange(1), default=4, help="Width of its memory.")
@click.option("--layers", type=click.IntRange(1), default=1, help="CGRUs per step.")
@click.option(
    "--relaxed", type=click.IntRange(1), default=1, help="Sets of weights until they are joined."
)
@click.option("--dropout", type=Number(0, 1), default=0.1, help="Dropout of the memory, in all.")
@click.option(
    "--questions", type=click.IntRange(1), default=256, help="Test questions of each sort."
)
@click.option("--seed", type=click.IntRange(0), default=1, help="Seed.")
@click.option("--output", metavar="FILE", type=PATH, help="Write the result there, as JSON.")
@json_option
def neural_gpu(
    *,
    model: str,
    task: str,
    bits: int,
    steps: int,
    batch: int,
    rate: float,
    noise: float,
    maps: int,
    width: int,
    layers: int,
    relaxed: int,
    dropout: float,
    questions: int,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Teach a model binary arithmetic and test it on numbers two and four times as long.

    The Neural GPU (Kaiser & Sutskever 2015), the Extended Neural GPU (Kaiser & Bengio 2016) or
    Dragoman's Transformer: accuracy of whole answers and of their bits by length.  Runs on one
    thread of the CPU; the same seed gives the same numbers.

    \b
    Example:
      python -m studies.neural_gpu --model extended --task multiplication --bits 6
    """
    import torch

    from studies.learning import Schedule
    from studies.neural_gpu.models import Sizes
    from studies.neural_gpu.trial import Trial, run

    sizes = Sizes(maps, width, layers, relaxed, dropout)
    trial = Trial(
        model, task, bits, batch, seed, Schedule(steps, rate, noise=noise), sizes, questions
    )
    torch.set_num_threads(1)
    with counting("training", "steps", steps) as show:
        result = run(trial, show)
    present(result.values(), lambda: _table(result), output, as_json=as_json)


def _table(result: Result) -> str:
    trial = result.trial
    lines = [
        f"{trial.model}, {trial.task}: {result.parameters:,} parameters, {trial.schedule.steps:,} "
        f"steps in {result.minutes:.1f} minutes, {result.reached} of {trial.bits} bits reached in "
        "training",
        "bits  answers  bits right (per cent)",
    ]
    lines += [f"{one.bits:4}  {one.whole:7.2f}  {one.digits:10.2f}" for one in result.accuracy]
    return "\n".join(lines)


if __name__ == "__main__":
    neural_gpu()
