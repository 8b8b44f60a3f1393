"""Configurations: recipes, their overrides, systems, servers, calibrations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

import yaml

from dragoman.core.errors import ConfigError
from dragoman.core.strict_yaml import load_yaml
from dragoman.recipe.reading import read_experiment
from dragoman.saved.calibration import read_calibration
from dragoman.saved.system import read_system
from dragoman.server.server_config import read_server
from soak.fuzzing.bombs import as_files, json_bombs, yaml_bombs
from soak.fuzzing.mutations import with_other_value
from soak.fuzzing.target import Hostile, Target, from_file, texts, tokens

_RECIPES = Path(__file__).parents[3] / "recipes"
_SETTINGS = (
    "training.step_tokens=4096\nmodel.d_model=8\ndata.train.0.weight=2\nevaluation.metrics=[chrf]\n"
    "training.schedule={peak_learning_rate: 0.1}\nmodel.dropout=0.2\nvocabulary.size=500"
)
_SYSTEM = (
    "models: [runs/a, runs/b]\nweights: [1, 2]\nsearch: {beam: 4, length_penalty: 0.6}\n"
    "precision: bfloat16\nterms: {glossary: terms.tsv}\nworkers: 2\n"
)
_SERVER = (
    "host: 127.0.0.1\nport: 5000\nsystems:\n- runs/a\n- models: [runs/b]\n  workers: 2\n"
    "limits: {characters: 1000, seconds: 20}\nbatching: {queue_lines: 100}\npivots: [en]\n"
)
_CALIBRATION = (
    '{"format": 1, "right": {"kind": "chrf", "above": 50}, "intercept": 0.1, "weights": '
    '{"mean": 2.5}, "text": "dev", "lines": 10, "share": 0.5, "conditions": {"weights": ["ab"], '
    '"system": {}, "search": {"beam": 4}}}'
)
_WORDS = tokens(
    "{ } [ ] : - & * << ! | > # ~ null true 1e3 1_0 0o7 .nan .inf 2001-01-01 base: model: train:"
)


def _recipes() -> list[Hostile]:
    """The recipes that need no other file."""
    found = []
    for path in sorted(_RECIPES.rglob("*.yaml")):
        with suppress(ConfigError):
            if "base:" not in path.read_text(encoding="utf-8"):
                read_experiment(path)
                found.append(Hostile("recipe.yaml", path.read_bytes()))
    return found


def _other_values(seeds: list[Hostile], random: Random) -> Hostile:
    """A configuration in which one to four values are others."""
    seed = random.choice(seeds)
    values: object = load_yaml(seed.content.decode())
    for _ in range(random.randint(1, 4)):
        values = with_other_value(values, random)
    text = yaml.safe_dump(values, allow_unicode=True, sort_keys=False)
    return seed._replace(content=text.encode("utf-8", "surrogatepass"))


def _yaml_target(
    name: str, read: Callable[[Path], object], find_seeds: Callable[[], list[Hostile]]
) -> Callable[[Path], Target]:
    def made(folder: Path) -> Target:
        seeds = find_seeds()
        return Target(
            name,
            from_file(read, folder),
            seeds,
            tokens=_WORDS,
            bombs=as_files(seeds[0].name, yaml_bombs()),
            made=partial(_other_values, seeds),
        )

    return made


def _overrides(folder: Path) -> Target:
    recipe = _RECIPES / "homeassistant-enko.yaml"

    def call(hostile: Hostile) -> None:
        text = hostile.content.decode("utf-8", "surrogateescape")
        read_experiment(recipe, text.split("\n"))

    words = [b"\n", *tokens("= . data.train.0 model.family training.tasks a.b.c {a: b}")]
    bombs = [
        Hostile("settings", f"{key}={value}".encode())
        for key in ("model.d_model", "a." * 50_000, "data.train." + "9" * 5000)
        for value in ("1", "[" * 50_000, "9" * 50_000)
    ]
    return Target(
        "overrides", call, texts("settings", _SETTINGS, "seed=7"), tokens=words, bombs=bombs
    )


def _server(path: Path) -> None:
    read_server(path, {})


def _calibrations(folder: Path) -> Target:
    return Target(
        "calibration",
        from_file(read_calibration, folder),
        texts("confidence.json", _CALIBRATION),
        bombs=as_files("confidence.json", json_bombs()),
    )


TARGETS: Mapping[str, Callable[[Path], Target]] = {
    "recipe": _yaml_target("recipe", read_experiment, _recipes),
    "overrides": _overrides,
    "system": _yaml_target("system", read_system, lambda: texts("system.yaml", _SYSTEM)),
    "server-config": _yaml_target("server-config", _server, lambda: texts("s.yaml", _SERVER)),
    "calibration": _calibrations,
}
"""Of this module."""
