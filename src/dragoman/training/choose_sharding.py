"""The sharding chosen by a configuration."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.core.device import working_precision
from dragoman.models.interface import TranslationModel
from dragoman.training.distributed import World
from dragoman.training.settings import TrainingConfig
from dragoman.training.sharding.gradient_sharding import GradientSharding
from dragoman.training.sharding.interface import Sharding
from dragoman.training.sharding.replicas import OverlappingReplicas, Replicas
from dragoman.training.sharding.state_sharding import StateSharding


def chosen_sharding(config: TrainingConfig, world: World) -> Callable[[TranslationModel], Sharding]:
    """A function from a model to its sharding; a single process shares nothing."""
    precision = working_precision(config.precision, world.device)
    settings = config.optimizer, precision, config.ema_decay
    if world.size == 1 or (config.sharding == "none" and config.send_gradients == "after"):
        return lambda model: Replicas(model, *settings)
    if config.sharding == "none":
        return lambda model: OverlappingReplicas(model, *settings, world=world)
    if config.sharding == "state":
        return lambda model: StateSharding(model, *settings, world=world)
    if config.sharding == "gradients":
        return lambda model: GradientSharding(model, *settings, world=world)
    # Imported only when needed, as this takes a second.
    from dragoman.training.sharding.parameter_sharding import ParameterSharding

    return lambda model: ParameterSharding(model, *settings, world=world)
