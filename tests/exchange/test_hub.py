"""Models by name: from a Hub on this machine, and to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import call, one_error
from hub_server import HubServer, hub_server
from tiny_model import save_tiny_model

from dragoman.core.errors import ConfigError, DownloadError
from dragoman.exchange.hub import fetch, is_hub_name, needed_files, push
from dragoman.exchange.hub_card import front_matter
from dragoman.text.examples import Direction

hub = pytest.importorskip("huggingface_hub")
constants = pytest.importorskip("huggingface_hub.constants")

CARD = b"---\nlicense: cc-by-4.0\nlanguage: [en, de]\n---\n# A model\n"
FILES = {
    "README.md": CARD,
    "config.json": b"{}",
    "model.safetensors": b"weights",
    "pytorch_model.bin": b"a pickle",
    "tf_model.h5": b"another program's",
    "onnx/model.onnx": b"another program's",
    "source.spm": b"pieces",
}


@pytest.fixture(scope="module")
def running_hub() -> Iterator[HubServer]:
    with hub_server() as server:
        yield server


@pytest.fixture
def server(running_hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HubServer:
    running_hub.repositories = {"org/model": dict(FILES)}
    running_hub.gated, running_hub.sent = set(), []
    monkeypatch.setenv("HF_ENDPOINT", running_hub.address)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return running_hub


def test_what_an_importer_needs_is_fetched_once(server: HubServer) -> None:
    told: list[str] = []
    found = fetch("hf:org/model", told.append)
    names = sorted(path.name for path in found.path.iterdir())
    assert names == ["README.md", "config.json", "model.safetensors", "source.spm"]
    assert (found.path / "model.safetensors").read_bytes() == b"weights"
    assert (found.name, found.licence) == ("org/model", "cc-by-4.0")
    assert found.revision == server.commit("org/model")
    assert "licence: cc-by-4.0, 4 files" in told[0]
    sent = len(server.sent)
    assert fetch(f"hf:org/model@{found.revision}").path == found.path
    assert len(server.sent) == sent


def test_offline_the_cache_answers(server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    found = fetch("hf:org/model")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    server.repositories.clear()
    assert fetch("hf:org/model") == found
    with pytest.raises(DownloadError, match="hf:org/other: not in the cache"):
        fetch("hf:org/other")


def test_errors_name_the_remedy(server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DownloadError, match=r"hf:org/other: no such model.*set HF_TOKEN"):
        fetch("hf:org/other")
    with pytest.raises(DownloadError, match=r"no such revision"):
        fetch("hf:org/model@v9")
    server.gated.add("org/model")
    with pytest.raises(DownloadError, match=r"accept it on the model's page"):
        fetch("hf:org/model")
    for name in ("hf:model", "hf:a/b/c", "hf:", "hf:a/../../etc@x y"):
        with pytest.raises(ConfigError, match="no name of a model on the Hub"):
            fetch(name)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(DownloadError, match="no connection"):
        fetch("hf:org/model")


def test_pickles_are_fetched_only_without_tensors() -> None:
    assert list(needed_files(["a/x.json", "pytorch_model.bin", "rust_model.ot"])) == [
        "pytorch_model.bin"
    ]
    shards = ["pytorch_model-00001-of-00002.bin", "pytorch_model.bin.index.json", "LICENSE"]
    assert list(needed_files(shards)) == shards
    tensors = ["model-00001-of-00002.safetensors", "model.safetensors.index.json"]
    assert list(needed_files([*shards, *tensors])) == ["LICENSE", *tensors]


def test_names() -> None:
    assert is_hub_name("hf:org/model") and is_hub_name(Path("hf:org/model"))
    assert not is_hub_name("models/hf")


def test_a_model_is_published_with_a_card_that_the_hub_reads(
    server: HubServer, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "README.md").write_text("# en to de\n")
    (model / "model.safetensors").write_bytes(b"ours")
    matter = {"language": ["en", "de"], "license": "apache-2.0", "pipeline_tag": "translation"}
    for _ in range(2):  # the second commit goes to the same repository
        address = push(model, "me/mine", matter)
        assert address.startswith(server.address)
    published = server.repositories["me/mine"]
    assert published["model.safetensors"] == b"ours"
    card = hub.ModelCard(published["README.md"].decode())
    assert card.data.license == "apache-2.0"
    assert card.data.pipeline_tag == "translation"
    assert card.text.strip() == "# en to de"
    with pytest.raises(ConfigError, match="without @revision"):
        push(model, "me/mine@v1", matter)


def test_a_model_is_imported_by_its_name(server: HubServer, tmp_path: Path) -> None:
    server.add("org/opus", Path(__file__).parent / "models" / "huggingface_marian" / "shared")
    outcome = call("import", "hf:org/opus", "--output", tmp_path / "ours")
    assert outcome.code == 0, outcome.err
    card = (tmp_path / "ours" / "README.md").read_text("utf-8")
    assert f"from hf:org/opus at revision {server.commit('org/opus')}" in card
    message = one_error(call("import", "hf:org/none", "--output", tmp_path / "no"), 9)
    assert "hf:org/none: no such model" in message
    assert not (tmp_path / "no").exists()


def test_a_run_is_pushed_with_its_scores(server: HubServer, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    directions = (Direction(source_language="en", target_language="de"),)
    save_tiny_model(run / "model", directions=directions)
    (run / "config.yaml").write_bytes((run / "model" / "config.yaml").read_bytes())
    score = {"name": "BLEU", "value": 31.257, "signature": "nrefs:1|tok:13a"}
    scores = {"checkpoints": ["step-1"], "test": {"loss": 1.5, "bleu": score}}
    (run / "scores.json").write_text(json.dumps(scores))
    outcome = call("push", run, "me/mine", "--licence", "cc-by-4.0", "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["address"].startswith(server.address)
    card = hub.ModelCard(server.repositories["me/mine"]["README.md"].decode())
    assert (card.data.language, card.data.license) == (["en", "de"], "cc-by-4.0")
    (result,) = card.data.eval_results
    assert (result.dataset_name, result.metric_type) == ("test", "bleu")
    assert result.metric_value == 31.26
    assert front_matter(run / "model", "mit").keys() == {
        "language", "license", "library_name", "tags", "pipeline_tag",
    }  # fmt: skip
