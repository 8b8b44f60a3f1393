"""The command ``python -m studies.memory_network``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.cli.option_types import PATH, Number
from dragoman.cli.options import json_option
from dragoman.workflows.progress import counting, quiet_option
from studies.command import StudyCommand, present

if TYPE_CHECKING:
    from studies.memory_network.trial import Result

_MODELS = click.Choice(["memory-network", "transformer"])


@click.command(
    "memory_network",
    cls=StudyCommand,
    params=[quiet_option],
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.option("--model", type=_MODELS, default="memory-network", help="What learns.")
@click.option("--hops", type=click.IntRange(1), default=3, help="Hops of the memory network.")
@click.option(
    "--sentences", type=click.IntRange(2, 100), default=10, help="Maximum sentences in training."
)
@click.option("--steps", type=click.IntRange(1), default=10000, help="Steps of training.")
@click.option("--batch", type=click.IntRange(1), default=32, help="Questions per step.")
@click.option("--rate", type=Number(0, min_open=True), default=0.01, help="Learning rate.")
@click.option(
    "--linear",
    type=Number(0, 1),
    default=0.1,
    help="Share of the steps at the beginning without softmax.",
)
@click.option(
    "--questions", type=click.IntRange(1), default=1000, help="Test questions of each sort."
)
@click.option("--seed", type=click.IntRange(0), default=1, help="Seed.")
@click.option("--output", metavar="FILE", type=PATH, help="Write the result there, as JSON.")
@json_option
def memory_network(
    *,
    model: str,
    hops: int,
    sentences: int,
    steps: int,
    batch: int,
    rate: float,
    linear: float,
    questions: int,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Teach a model to answer questions about stories, and test it on longer stories, too.

    The end-to-end memory network (Sukhbaatar et al. 2015) or Dragoman's Transformer: error rates
    by kind of question and length of story, that of training and two and four times that.  Runs on
    one thread of the CPU; the same seed gives the same numbers.

    \b
    Example:
      python -m studies.memory_network --hops 2
    """
    import torch

    from studies.learning import Schedule
    from studies.memory_network.trial import CLIP, Trial, run

    schedule = Schedule(steps, rate, clip=CLIP[model])
    trial = Trial(model, hops, sentences, batch, seed, schedule, linear, questions)
    torch.set_num_threads(1)
    with counting("training", "steps", steps) as show:
        result = run(trial, show)
    present(result.values(), lambda: _table(result), output, as_json=as_json)


def _table(result: Result) -> str:
    trial = result.trial
    tasks = list(dict.fromkeys(one.task for one in result.errors))
    wrong = {(one.task, one.sentences): one.wrong for one in result.errors}
    lines = [
        f"{trial.model}: {result.parameters:,} parameters, {trial.schedule.steps:,} steps in "
        f"{result.minutes:.1f} minutes; wrong answers in per cent",
        "sentences" + "".join(f"{task:>11}" for task in tasks),
    ]
    for sentences in dict.fromkeys(one.sentences for one in result.errors):
        figures = "".join(f"{wrong[task, sentences]:11.1f}" for task in tasks)
        lines.append(f"{sentences:9}{figures}")
    return "\n".join(lines)


if __name__ == "__main__":
    memory_network()
