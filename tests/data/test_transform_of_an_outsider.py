"""A transform that another package adds: named in a recipe, trained with, and read again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from installed_package import installed_package

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.data.batches import Batches
from dragoman.data.prepare import prepare
from dragoman.text.corpora.cleaning import CleaningConfig
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.text.examples import Example, Origin
from dragoman.text.transforms import GROUP
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies

PLUG_IN = """
from typing import Literal

from pydantic import Field

from dragoman.text.transforms import SharedTransform


class EchoConfig(SharedTransform):
    kind: Literal["echo"] = "echo"
    times: int = Field(2, ge=1)

    def __call__(self, example, rng):
        if not self.draws(rng):
            return example
        return example._replace(source=" ".join([example.source] * self.times))
"""


@pytest.fixture(autouse=True)
def plug_in(tmp_path: Path) -> Iterator[None]:
    """A package of somebody else: one file, and one line of entry points."""
    entries = {
        "echo": "echo_transform:EchoConfig",
        "broken": "no_such_module:X",
        "tag": "echo_transform:EchoConfig",
        "empty": "dragoman.text.transforms:TransformConfig",
        "other": "json:JSONDecoder",
    }
    site = tmp_path / "site"
    with installed_package(site, "echo_transform", PLUG_IN, GROUP, entries):
        yield


def part(**transform: Any) -> CorpusPart:
    given = {"path": "a.tsv", "source": "en", "target": "de", "transforms": [transform]}
    return parse(CorpusPart, given, "run.yaml")


def test_it_is_named_in_a_configuration_and_read_again() -> None:
    one = part(kind="echo", times=3)
    values = json.loads(one.model_dump_json())
    assert values["transforms"] == [{"kind": "echo", "share": 1.0, "from_epoch": 0, "times": 3}]
    again = parse(CorpusPart, values, "run.yaml")
    assert again == one
    example = Example("a b", "c", "en", "de", (), Origin("a", 1))
    assert again.transforms[0](example, Random(1)) == example._replace(source="a b a b a b")


@pytest.mark.parametrize("share", [1.0, 0.99])
def test_it_runs_once_or_in_each_epoch(share: float, tmp_path: Path) -> None:
    """Prepared with the corpus, or applied to batches if it draws."""
    (tmp_path / "a.tsv").write_text("en\tde\none two\tzwei\n", encoding="utf-8")
    one = part(kind="echo", share=share).model_copy(update={"path": str(tmp_path / "a.tsv")})
    assert bool(one.epoch_transforms) == (share < 1)
    lines = [("one two one two", "zwei")] * 3
    vocabularies = train_vocabularies(lines, VocabularyConfig(size=14), seed=1)
    store, _ = prepare(tmp_path / "data", [one], vocabularies, CleaningConfig(), max_pieces=50)
    ((batch,),) = Batches(store, 100, seed=1, vocabularies=vocabularies, parts=[one]).epoch(0)
    source = vocabularies.source.decode(batch.source[0].tolist()[:-1])
    assert source == "one two one two"


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        ({"kind": "echo", "times": 0}, r"transforms\.0\.times: Input should be greater than or"),
        ({"kind": "echo", "tmies": 2}, r"unknown key 'transforms\.0\.tmies'"),
        (
            {"kind": "ehco"},
            r"transforms\.0\.kind: .* one of .*'echo'.*; did you mean 'echo'\? Or",
        ),
        ({"kind": "broken"}, r"broken \(no_such_module:X of echo_transform\) cannot be loaded"),
        ({"kind": "other"}, r"other \(json:JSONDecoder of echo_transform\) is not a subclass"),
        ({"kind": "empty"}, r"empty .* is abstract without __call__; update"),
        ({}, r"transforms\.0\.kind: Input should be one of 'back_translation', .*, found ''"),
    ],
)
def test_mistakes_are_named(transform: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        part(**transform)


def test_ours_come_first() -> None:
    assert type(part(kind="tag").transforms[0]).__module__ == "dragoman.text.transforms.tagging"
