"""What is trained on and translated: rows of the embedded corpus, recipes, and their models."""

from __future__ import annotations

import bz2
from collections.abc import Mapping
from functools import partial
from typing import Any

from soak.outputs.workplace import Workplace, in_parallel, package

_TEST, _DEV, _TRAIN = 200, 20, 1500
_FEW = {"max_steps": 8, "validation_steps": 4, "checkpoint_steps": 4}
_MANY = {"max_steps": 160, "validation_steps": 80, "checkpoint_steps": 80}

Recipe = dict[str, Any]


def _direction(name: str, source: str, target: str, **more: Any) -> Recipe:
    return {"path": f"{name}.tsv", "source": source, "target": target, **more}


def _recipe(steps: Mapping[str, int], source: str = "en", target: str = "de") -> Recipe:
    """A recipe of one direction; what variations change is in :data:`RECIPES`."""
    return {
        "seed": 3,
        "source_language": source,
        "target_language": target,
        "data": {
            "train": [_direction("train", source, target)],
            "dev": _direction("dev", source, target),
            "processes": 1,
        },
        "vocabulary": {"size": 220},
        "model": {"encoder_layers": 1, "decoder_layers": 1, "d_model": 64, "d_ff": 96, "heads": 2},
        "training": {
            "step_tokens": 1000,
            "schedule": {"warmup_steps": 40, "peak_learning_rate": 0.008},
            "precision": "float32",
            **steps,
            "log_steps": 1,
            "average_checkpoints": 2,
            "best_metric": "loss",
        },
        "search": {"beam": 2, "extra_length": 8},
    }


def _changed(recipe: Recipe, **changes: Any) -> Recipe:
    """A recipe with other sections; a mapping is merged into the section of its name."""
    merged = dict(recipe)
    for name, value in changes.items():
        old = merged.get(name)
        merged[name] = {**old, **value} if isinstance(old, dict) and name != "model" else value
    return merged


def _training(**values: Any) -> Recipe:
    return _changed(_recipe(_FEW), training={**_recipe(_FEW)["training"], **values})


def _two_tasks() -> Recipe:
    recipe = _recipe(_MANY)
    del recipe["source_language"], recipe["target_language"]

    def parts(name: str, **more: str) -> list[Recipe]:
        tag = [{"kind": "tag"}]
        pairs = (("en", "de"), ("de", "en"))
        return [
            _direction(name, s, t, source_language=s, target_language=t, transforms=tag, **more)
            for s, t in pairs
        ]

    first, second = parts("train")
    recipe["data"]["train"] = [first, {**second, "task": "back"}]
    recipe["data"]["dev"] = dict(zip(("en-de", "de-en"), parts("dev"), strict=True))
    recipe["training"]["tasks"] = {"back": {"weight": 0.5}}
    return recipe


def _language_model() -> Recipe:
    recipe = _recipe(_FEW)
    del recipe["source_language"]
    recipe["data"]["train"] = [{"path": "train.tsv", "target": "de"}]
    recipe["data"]["dev"] = {"path": "dev.tsv", "target": "de"}
    model = {"family": "transformer_lm", "layers": 1, "d_model": 32, "d_ff": 48, "heads": 2}
    vocabulary = {"of": "runs/plain"}
    return {**recipe, "vocabulary": vocabulary, "model": model, "evaluation": {"metrics": []}}


def _classifier() -> Recipe:
    recipe = _recipe(_FEW, "en", "label")
    del recipe["source_language"]
    for name in ("train", "dev"):
        part = {"path": f"{name}.tsv", "label_columns": ["en", "de", "fr"]}
        recipe["data"][name] = [part] if name == "train" else part
    backbone = {"family": "transformer", "encoder_layers": 1, "d_model": 32, "d_ff": 48, "heads": 2}
    model = {"family": "classifier", "pooling": "mean", "backbone": backbone}
    return {**recipe, "model": model, "search": {}, "evaluation": {"metrics": ["accuracy"]}}


RECIPES: Mapping[str, Recipe] = {
    "plain": _recipe(_MANY),
    "back": _recipe(_MANY, "de", "en"),
    "two-tasks": _two_tasks(),
    "language-model": _language_model(),
    "classifier": _classifier(),
    "sharp": _training(label_smoothing=0.0),
    "paper": _training(
        schedule={"warmup_steps": 4}, optimizer={"kind": "adamw", "weight_decay": 0.1}
    ),
    "cosine": _training(
        schedule={"warmup_steps": 2, "peak_learning_rate": 0.004, "decay": "cosine"},
        optimizer={"clip_norm": 0.5},
    ),
    "r-drop": _training(objective={"kind": "r_drop"}),
    "recurrent": _changed(
        _training(), model={"family": "recurrent", "d_model": 24, "dropout": 0.1}
    ),
    "convs2s": _changed(
        _training(), model={"family": "convs2s", "d_model": 24, "d_hidden": 24, "dropout": 0.1}
    ),
    "unigram": _changed(_training(), vocabulary={"kind": "unigram", "size": 250, "sampling": 0.2}),
}
"""Of each run that starts with nothing."""

_LATER = ("language-model", "lora")
"""Runs that begin with the plain one."""

PROCESSES = {"two-processes": "none", "state": "state", "parameters": "parameters"}
"""Runs in two processes, and what these share out."""


def write_text(place: Workplace) -> None:
    """The text that models learn from, and lines to translate.

    Raises:
        RuntimeError: the package has no corpus.
    """
    for path in package().rglob("corpus.tsv.bz2"):
        header, *rows = bz2.decompress(path.read_bytes()).decode().splitlines()
        break
    else:
        raise RuntimeError("there is no corpus.tsv.bz2 in the package")
    place.write("all.tsv", "\n".join([header, *rows[:400]]) + "\n")
    begun = 0
    for name, count in (("test", _TEST), ("dev", _DEV), ("train", _TRAIN)):
        part = rows[begun : begun + count]
        begun += count
        place.write(f"{name}.tsv", "\n".join([header, *part]) + "\n")
        for language in ("en", "de", "fr"):
            column = header.split("\t").index(language)
            lines = [row.split("\t")[column] for row in part]
            place.write(f"{name}.{language}", "\n".join(lines) + "\n")
    place.write("general.tsv", "\n".join([header, *rows[1500:1700]]) + "\n")


def train(place: Workplace, names: list[str] | None = None) -> None:
    """Train ``runs/NAME`` for each name of a recipe, or all, and the adapter ``runs/lora``."""
    write_text(place)
    for name, recipe in RECIPES.items():
        place.write(f"{name}.yaml", recipe)
    place.write("lora.yaml", _lora())

    def trained(name: str, options: str = "") -> None:
        place.need(f"train {options or f'{name}.yaml'} --run runs/{name} --quiet")

    first = [name for name in names or RECIPES if name not in _LATER]
    jobs = [partial(trained, name) for name in first]
    if names is None:
        for name, sharding in PROCESSES.items():
            options = f"paper.yaml --processes 2 --set training.sharding={sharding}"
            jobs.append(partial(trained, name, options))
    in_parallel(jobs)
    in_parallel(partial(trained, name) for name in _LATER)


def _lora() -> Recipe:
    recipe = _training(start_from={"model": "runs/plain"}, adapter={"rank": 2})
    return {name: value for name, value in recipe.items() if name != "vocabulary"}
