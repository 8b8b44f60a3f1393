"""A family of another package: one file and an entry point, as an outsider would write them."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from installed_package import installed_package

import dragoman
from dragoman.core.config import parse, to_yaml
from dragoman.core.errors import ConfigError
from dragoman.models import registry
from dragoman.models.interface import FamilyConfig, TranslationModel
from dragoman.models.registry import FAMILIES, GROUP
from dragoman.saved.saved_config import SavedConfig
from dragoman.text import synthetic

BAG = '''
"""Each target position sees the piece before it and the mean of the source's embeddings."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field
from torch import nn

from dragoman.models.interface import FamilyConfig, Memory, State, TranslationModel


class BagConfig(FamilyConfig):
    """Sizes."""

    family: Literal["bag"] = "bag"
    """Which family of models this is."""
    depth: int = Field(1, ge=1)
    """Layers."""


@dataclass(frozen=True)
class Nothing(State):
    """A position sees nothing of those before it but the piece that it reads."""


class Bag(TranslationModel):
    """A bag of words."""

    Config = BagConfig

    def __init__(self, config, source_vocabulary, target_vocabulary):
        super().__init__()
        self.config = config
        self.source_embedding = nn.Embedding(source_vocabulary, config.d_model)
        self.target_embedding = nn.Embedding(target_vocabulary, config.d_model)
        self.decoder = nn.ModuleList(
            nn.Linear(config.d_model, config.d_model) for _ in range(config.depth)
        )
        self.output = nn.Linear(config.d_model, target_vocabulary)

    def encode(self, source, source_mask):
        seen = source_mask.unsqueeze(2)
        mean = (self.source_embedding(source) * seen).sum(1, keepdim=True) / seen.sum(1, True)
        return Memory(mean, source_mask)

    def start(self, memory, beam=1):
        return Nothing()

    def decode(self, target, memory, state):
        mean = memory.hidden.repeat_interleave(len(target) // len(memory.hidden), dim=0)
        x = self.target_embedding(target) + mean
        for layer in self.decoder:
            x = layer(x).tanh()
        return x, state

    def logits(self, hidden):
        return self.output(hidden)
'''


@pytest.fixture
def bag(tmp_path: Path) -> Iterator[None]:
    with added(tmp_path, "dragoman_bag", BAG, {"bag": "dragoman_bag:Bag"}):
        yield
    sys.modules.pop("dragoman_bag", None)


with_the_bag = pytest.mark.usefixtures("bag")


def added(
    tmp_path: Path, name: str, source: str, families: dict[str, str]
) -> AbstractContextManager[None]:
    return installed_package(tmp_path / "site", name, source, GROUP, families)


def read(model: dict[str, Any]) -> FamilyConfig:
    return parse(SavedConfig, {"model": model}, "run.yaml").model


def message(model: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        read(model)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def part(name: str) -> dict[str, str]:
    return {"path": f"{name}.tsv", "source": "en", "target": "de"}


@with_the_bag
def test_it_trains_saves_loads_and_translates(tmp_path: Path) -> None:
    synthetic.write(tmp_path, 60, dev=5, test=0)
    values = {
        "data": {"train": [part("train")], "dev": part("dev")},
        "vocabulary": {"size": 120, "joint": False},
        "model": {"family": "bag", "d_model": 8, "depth": 2},
        "training": {"step_tokens": 300, "max_steps": 2, "precision": "float32"},
        "search": {"extra_length": 5},
    }
    (tmp_path / "bag.yaml").write_text(to_yaml(values), encoding="utf-8")
    trained = dragoman.train(tmp_path / "bag.yaml", tmp_path / "run", ["model.d_model=6"])
    assert len(trained.load(device="cpu").translate(["three euros", "noon"])) == 2
    del sys.modules["dragoman_bag"]  # as in another process
    (model,) = dragoman.load(tmp_path / "run", device="cpu").models
    assert repr(model.config) == "BagConfig(family='bag', d_model=6, depth=2)"


@with_the_bag
def test_it_passes_the_truths_of_all_families() -> None:
    config = read({"family": "bag", "d_model": 5, "depth": 2})
    names = runpy.run_path(str(Path(__file__).with_name("test_families.py")))
    truths = [truth for name, truth in names.items() if name.startswith("test_")]
    assert len(truths) >= 8
    for truth in truths:
        truth(config=config)


@with_the_bag
def test_its_keys_are_told_like_those_of_others() -> None:
    assert message({"family": "bag", "dept": 2}).endswith("'model.dept'; did you mean 'depth'?")
    assert "model.depth: Input should be greater" in message({"family": "bag", "depth": 0})
    assert "'bag', 'bytenet'" in message({"family": "bagg"})
    assert list(FAMILIES) == [*registry._BUILT_IN, "bag"]
    assert len(FAMILIES) == len(registry._BUILT_IN) + 1


def test_an_unknown_family_may_be_of_a_package_that_is_missing() -> None:
    assert message({"family": "transfomer"}).endswith(
        "found 'transfomer'; did you mean 'transformer'? Or is the package missing that "
        "provides it?"
    )
    assert message({"family": "bag"}).endswith(
        "found 'bag'; is the package missing that provides it?"
    )
    with pytest.raises(KeyError):
        FAMILIES["bag"]


HALF = """
from dragoman.models.families.transformer import Transformer
from dragoman.models.interface import TranslationModel

class Half: pass
class Empty(TranslationModel): pass
class Bare(Transformer): Config = None
class Named(Transformer): pass
"""
BROKEN = {
    "gone_elsewhere:Model": "cannot be loaded: ModuleNotFoundError: No module named 'gone_elsew",
    "half_family:Gone": "cannot be loaded: AttributeError: module 'half_family' has no attribute",
    "half_family:Half": "is not a subclass of dragoman.models.interface.TranslationModel",
    "half_family:Empty": "is abstract without decode, encode, logits, start; update or uninstall",
    "half_family:Bare": "must have a subclass of FamilyConfig as its attribute Config",
    "half_family:Named": "its Config must have the family 'half', not 'transformer'",
}


@with_the_bag
@pytest.mark.parametrize("value", BROKEN)
def test_one_that_cannot_be_used_is_named_and_disturbs_no_other(value: str, tmp_path: Path) -> None:
    with added(tmp_path / "half", "half_family", HALF, {"half": value}):
        found = message({"family": "half"})
        assert found.startswith("run.yaml: model: dragoman.families: half")
        assert BROKEN[value] in found
        assert read({"family": "bag"}).family == "bag"
        assert read({}).family == "transformer"
    sys.modules.pop("half_family", None)


def test_a_family_of_this_package_is_nobody_elses(tmp_path: Path) -> None:
    with added(tmp_path, "other_bag", BAG, {"transformer": "other_bag:Bag"}):
        assert read({"family": "transformer"}).model_dump()["encoder_layers"] == 6
        assert len(FAMILIES) == len(registry._BUILT_IN)


COMPONENTS = {
    "deep_fusion": {"translation": "recurrent", "language_model": "recurrent_lm"},
    "classifier": {"backbone": "recurrent"},
}


@pytest.mark.parametrize("name", registry._BUILT_IN)
def test_every_family_of_this_package_has_its_name_and_configuration(name: str) -> None:
    model = FAMILIES[name]
    assert issubclass(model, TranslationModel)
    assert model.Config.model_fields["family"].default == name
    needed = {part: {"family": family} for part, family in COMPONENTS.get(name, {}).items()}
    assert type(read({"family": name, **needed})) is model.Config
