"""The front matter of a card on the Hugging Face Hub, from what a model says of itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragoman.core.files import read_json
from dragoman.saved.directions import NAMELESS, language_pairs
from dragoman.saved.model import config_of
from dragoman.text.language_codes import common_language

SCORES_FILE = "scores.json"


def front_matter(model: Path, licence: str) -> dict[str, Any]:
    """Languages, licence, task and, of a run, its scores (``model-index``).

    Args:
        model: a model or a run.
        licence: as the Hub abbreviates it, such as ``cc-by-4.0``.
    """
    config = config_of(model)
    pairs = language_pairs(config)
    names = dict.fromkeys(name for pair in pairs for name in pair if name not in NAMELESS)
    matter: dict[str, Any] = {
        "language": list(dict.fromkeys(map(common_language, names))),
        "license": licence,
        "library_name": "dragoman",
        "tags": ["translation", "dragoman", config.model.family],
        "pipeline_tag": "translation",
    }
    scores = model / SCORES_FILE
    if scores.is_file() and (results := list(_results(read_json(scores)))):
        entry = {"task": {"type": "translation"}, "metrics": []}
        matter["model-index"] = [
            {"name": model.name, "results": [{**entry, **result} for result in results]}
        ]
    return matter


def _results(scores: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The scores of each set that have a signature, which others can compute again."""
    for name, values in scores.items():
        metrics = [
            {
                "type": metric,
                "value": round(score["value"], 2),
                "name": score.get("name", metric),
                "args": {"signature": score["signature"]},
            }
            for metric, score in (values.items() if isinstance(values, dict) else ())
            if isinstance(score, dict) and score.get("signature")
        ]
        if metrics:
            yield {"dataset": {"type": "text", "name": name}, "metrics": metrics}
