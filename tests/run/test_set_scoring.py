"""What a finished model says of itself: also what it knew before its run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_model import save_tiny_model
from worlds import ALONE

from dragoman.core.config import parse
from dragoman.recipe import ExperimentConfig
from dragoman.run.revision import plain_values
from dragoman.run.set_scoring import saved_config, validation_of
from dragoman.saved.model import CONFIG_FILE, read_config
from dragoman.text.inline_tags import InlineTags
from dragoman.text.terms.term_annotation import annotation_tags
from dragoman.text.vocabularies import Vocabularies

KNOWN = InlineTags(pairs=2, points=1)
GONE = "runs/that/moved"


def run_of(folder: Path, start: Any, transforms: list[dict[str, Any]]) -> ExperimentConfig:
    """A run of text with these transforms, and a dev set without."""
    (folder / "text.tsv").write_text("en\tde\na b\tb a\n", encoding="utf-8")
    part = {"path": str(folder / "text.tsv"), "source": "en", "target": "de"}
    values = {
        "data": {"train": [{**part, "transforms": transforms}], "dev": part},
        "training": {"start_from": start},
    }
    return parse(ExperimentConfig, values, "test")


@pytest.mark.parametrize(
    ("start", "transforms", "method", "known"),
    [
        (GONE, [], "append", KNOWN),
        (None, [], None, None),
        ({"model": GONE, "vocabulary": "new"}, [], None, None),
        ({"model": GONE, "parts": ["encoder", "embeddings"]}, [], None, None),
        (
            GONE,
            [
                {"kind": "terms", "glossary": "terms.tsv", "method": "replace"},
                {"kind": "markup_tags", "inline_tags": {"pairs": 1, "points": 1}},
            ],
            "replace",
            InlineTags(pairs=1, points=1),
        ),
    ],
)
def test_what_was_known_before_is_kept_unless_the_text_says_otherwise(
    tmp_path: Path,
    start: Any,
    transforms: list[dict[str, Any]],
    method: str | None,
    known: InlineTags | None,
) -> None:
    """The model that training started from may have moved when the run is resumed."""
    model = save_tiny_model(tmp_path / "model", tags=annotation_tags("append"), inline_tags=KNOWN)
    vocabularies = Vocabularies.load(model)
    config = run_of(tmp_path, start, transforms)
    found = saved_config(config, vocabularies)
    assert (found.term_annotation, found.inline_tags) == (method, known)
    as_run = yaml.safe_dump(plain_values(config))  # which checkpoints are read by
    (model / CONFIG_FILE).write_text(as_run, encoding="utf-8")
    found = read_config(model / CONFIG_FILE)
    assert (found.term_annotation, found.inline_tags) == (method, known)
    (dev,) = config.dev_sets().values()
    assert validation_of(config, dev, vocabularies, ALONE)._inline_tags == known


@pytest.mark.parametrize(
    ("tags", "method"),
    [((), None), (("<2de>", "<t1>", "<x1>"), None), (("<term>", "</term>"), "replace")],
)
def test_other_tags_say_nothing(tmp_path: Path, tags: tuple[str, ...], method: str | None) -> None:
    vocabularies = Vocabularies.load(save_tiny_model(tmp_path / "model", tags=tags))
    found = saved_config(run_of(tmp_path, GONE, []), vocabularies)
    assert (found.term_annotation, found.inline_tags) == (method, None)
