"""Checks that the objectives and text of a run suit the way processes share the work."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.recipe.description import RunDescription, is_train
from dragoman.training.settings import TaskConfig

_SEVERAL_PASSES = {
    "training.send_gradients: during": "after",
    "training.sharding: gradients": "state",
    "training.sharding: parameters": "state",
}
"""Settings that need one backward pass for each batch, and their alternatives."""


def sending_problems(run: RunDescription) -> Iterator[str]:
    """Gradients sent, or weights fetched, once per pass; a batch may have several passes."""
    chosen = {
        f"training.send_gradients: {run.training.send_gradients}",
        f"training.sharding: {run.training.sharding}",
    }
    cut_off = [name for name, part in run.parts() if is_train(name) and part.cuts_off_source]
    for setting in chosen & _SEVERAL_PASSES.keys():
        if cut_off:
            yield (
                f"{cut_off[0]}: dummy_source with cut_off learns from a batch in two passes, and "
                f"{setting} needs a single one; set it to {_SEVERAL_PASSES[setting]}"
            )


def layer_problems(run: RunDescription) -> Iterator[str]:
    """Problems of settings for layers that the model lacks, or needs at other times."""
    model, training = run.model, run.training
    if training.recompute == "layers" and not model.has_separate_layers:
        yield (
            f"training.recompute: layers is for Transformers, and model.family: {model.family} "
            "has no layers that can be computed again; set it to none"
        )
    if training.sharding != "parameters":
        return
    remedy = "set training.sharding to gradients"
    if model.components:
        yield f"training.sharding: parameters does not go with a composed model; {remedy}"
    for name, part in run.parts():
        if is_train(name) and part.back_translation is not None:
            yield (
                f"{name}: back_translation translates with the model in training, whose weights "
                f"training.sharding: parameters takes apart; {remedy}"
            )
    for name in run.tasks():
        objective = run.training.tasks.get(name, TaskConfig()).objective or training.objective
        if objective.wanted_candidates() is not None:
            yield (
                f"objective {objective.kind} translates with the model in training, whose weights "
                f"training.sharding: parameters takes apart; {remedy}"
            )
