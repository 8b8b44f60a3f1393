"""The optimizer that a configuration asks for."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.core.device import working_precision
from dragoman.models.interface import TranslationModel
from dragoman.training.optimizers.distributed import World
from dragoman.training.optimizers.gradient_sharding import GradientSharding
from dragoman.training.optimizers.optimizer import FlatOptimizer, Optimizer
from dragoman.training.optimizers.overlap import OverlappingOptimizer
from dragoman.training.optimizers.state_sharding import StateSharding
from dragoman.training.settings import TrainingConfig


def chosen_optimizer(
    config: TrainingConfig, world: World
) -> Callable[[TranslationModel], Optimizer]:
    """What creates the optimizer of a model; a single process has nobody to share with.

    Args:
        config: how to train.
        world: the processes that train together.
    """
    precision = working_precision(config.precision, world.device)
    settings = config.optimizer, precision, config.ema_decay
    if world.size == 1 or (config.sharding == "none" and config.send_gradients == "after"):
        return lambda model: FlatOptimizer(model, *settings)
    if config.sharding == "none":
        return lambda model: OverlappingOptimizer(model, *settings, world=world)
    if config.sharding == "state":
        return lambda model: StateSharding(model, *settings, world=world)
    if config.sharding == "gradients":
        return lambda model: GradientSharding(model, *settings, world=world)
    # Imported only now: it takes a second.
    from dragoman.training.optimizers.parameter_sharding import ParameterSharding

    return lambda model: ParameterSharding(model, *settings, world=world)
