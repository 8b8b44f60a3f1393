"""Models by name: fetched from the Hugging Face Hub, and published there.

``huggingface_hub`` does the transfers.  It keeps a cache, resumes downloads, and obeys its own
environment variables, such as ``HF_HUB_OFFLINE``, ``HF_HOME``, ``HF_TOKEN`` and ``HF_ENDPOINT``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from dragoman.core.errors import ConfigError, DownloadError, MissingExtraError
from dragoman.core.files import storage_errors

if TYPE_CHECKING:
    from huggingface_hub import HfApi

PREFIX = "hf:"
_NAME = re.compile(r"hf:([\w.-]+/[\w.-]+)(?:@([\w./-]+))?", re.ASCII)
_NEEDED = {".json", ".model", ".spm", ".txt", ".md", ".yml", ".yaml", ".npz", ".safetensors"}
_LICENCE_FILES = ("license", "licence", "copying", "notice")


@dataclass(frozen=True)
class HubModel:
    """A model in the cache of ``huggingface_hub``."""

    name: str
    """Such as ``facebook/nllb-200-distilled-600M``."""
    revision: str
    """The commit, which never changes."""
    path: Path
    licence: str | None
    """As the card states it; None: not stated, or the card is not there."""


def is_hub_name(path: Path | str) -> bool:
    """Whether a model is named on the Hub, such as ``hf:org/name`` or ``hf:org/name@revision``."""
    return str(path).startswith(PREFIX)


def fetch(name: str, tell: Callable[[str], object] = lambda line: None) -> HubModel:
    """Download what an importer needs of a model, or take it from the cache.

    Args:
        name: ``hf:org/name``, or ``hf:org/name@revision`` for a branch, tag or commit.
        tell: gets the licence and the size before the download.

    Raises:
        ConfigError: this is no such name.
        DownloadError: there is no such model or revision, access needs a token, there is no
            connection, or the model is not in the cache while offline.
        MissingExtraError: huggingface_hub is not installed.
    """
    repository, revision = _parts(name)
    hub = huggingface_hub_library()
    cache = hub.constants.HF_HUB_CACHE
    if hub.constants.HF_HUB_OFFLINE:
        with hub_errors(name):
            path = Path(
                hub.snapshot_download(
                    repository,
                    revision=revision,
                    cache_dir=cache,
                    allow_patterns=["*.json"],  # what was fetched before is there, complete or not
                    ignore_patterns=["*/*"],
                    local_files_only=True,
                )
            )
        return HubModel(repository, path.name, path, card_licence(cached_card(path)))
    with hub_errors(name):
        info = hub_api().model_info(repository, revision=revision, files_metadata=True)
        wanted = list(needed_files(one.rfilename for one in info.siblings or ()))
        licence = card_licence(info.card_data)
        megabytes = sum(one.size or 0 for one in info.siblings or () if one.rfilename in wanted)
        tell(
            f"{name}: revision {str(info.sha)[:12]}, licence: {licence or 'not stated'}, "
            f"{len(wanted)} files, {megabytes / 1e6:,.0f} MB"
        )
        path = Path(
            hub.snapshot_download(
                repository,
                revision=revision,
                cache_dir=cache,
                allow_patterns=wanted,
                endpoint=hub_endpoint(),
            )
        )
    return HubModel(repository, path.name, path, licence)


def needed_files(names: Iterable[str]) -> Iterator[str]:
    """The files of a repository that importers read: one format of weights, and small files.

    Weights as ``safetensors`` are preferred to pickles; other programs' formats and files in
    folders are left out.
    """
    top = [name for name in names if "/" not in name]
    has_tensors = any(name.endswith(".safetensors") for name in top)
    for name in top:
        path = PurePosixPath(name.lower())
        is_pickle = path.suffix == ".bin" and name.startswith("pytorch_model")
        index = "pytorch_model.bin.index.json"
        if has_tensors and (is_pickle or name == index):
            continue
        if path.suffix in _NEEDED or is_pickle or path.stem in _LICENCE_FILES:
            yield name


def push(directory: Path, name: str, front_matter: dict[str, Any], *, private: bool = False) -> str:
    """Publish a model directory; its card gets the front matter that the Hub reads.

    Args:
        directory: a model.
        name: ``org/name``, with or without ``hf:``.
        front_matter: fields of ``huggingface_hub.ModelCardData``.
        private: whether only its owner may see a new repository.

    Returns:
        The address of the commit.

    Raises:
        ConfigError: this is no name of a repository.
        DownloadError: the Hub refuses, or cannot be reached.
        MissingExtraError: huggingface_hub is not installed.
    """
    repository, revision = _parts(name if is_hub_name(name) else f"{PREFIX}{name}")
    if revision is not None:
        raise ConfigError(f"{name}: a model is published to a repository, without @revision")
    hub = huggingface_hub_library()
    card = hub.ModelCard((directory / "README.md").read_text("utf-8"))
    card.data = hub.ModelCardData(**front_matter)
    api = hub_api()
    with hub_errors(name):
        api.create_repo(repository, private=private, exist_ok=True)
        operations = [
            hub.CommitOperationAdd(str(file.relative_to(directory).as_posix()), str(file))
            for file in sorted(directory.rglob("*"))
            if file.is_file() and file.name != "README.md"
        ]
        operations.append(hub.CommitOperationAdd("README.md", str(card).encode()))
        commit = api.create_commit(
            repository, operations, commit_message="A model made with Dragoman"
        )
    return str(commit.commit_url)


def _parts(name: str) -> tuple[str, str | None]:
    match = _NAME.fullmatch(name)
    if match is None:
        raise ConfigError(
            f"{name}: no name of a model on the Hub, such as hf:facebook/nllb-200-distilled-600M "
            "or hf:org/name@revision"
        )
    return match[1], match[2]


def huggingface_hub_library() -> Any:
    """The package, with its constants and errors.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import huggingface_hub
        import huggingface_hub.constants
        import huggingface_hub.errors
    except ImportError as error:
        raise MissingExtraError.of("huggingface_hub", "huggingface-hub") from error
    return huggingface_hub


def hub_endpoint() -> str | None:
    """The address of the Hub, if ``HF_ENDPOINT`` names another than usual."""
    return os.environ.get("HF_ENDPOINT") or None


def hub_api() -> HfApi:
    """A client of the Hub."""
    api: HfApi = huggingface_hub_library().HfApi(endpoint=hub_endpoint(), library_name="dragoman")
    return api


def card_licence(data: Any) -> str | None:
    """The licence that the front matter of a card states; None if it does not, or if None."""
    name = None if data is None else data.get("license_name") or data.get("license")
    if isinstance(name, list):
        return ", ".join(map(str, name)) or None
    return None if name is None else str(name)


def cached_card(path: Path) -> Any:
    """The front matter of the card in a repository's folder; None without a card."""
    card = path / "README.md"
    if not card.is_file():
        return None
    library = huggingface_hub_library()
    return library.ModelCard(card.read_text("utf-8"), ignore_metadata_errors=True).data


@contextmanager
def hub_errors(name: str, kind: str = "model") -> Iterator[None]:
    """Turn the errors of the Hub into one line each.

    Args:
        name: of a repository, for errors.
        kind: of this repository.

    Raises:
        DownloadError: with the remedy.
        StorageError: the cache cannot be written.
    """
    hub = huggingface_hub_library()
    kinds = hub.errors
    remedies = {
        kinds.GatedRepoError: f"its owner asks for an agreement; accept it on the {kind}'s page, "
        "and set HF_TOKEN to a token of your account",
        kinds.RepositoryNotFoundError: f"no such {kind}, or a private one; check the name, or "
        "set HF_TOKEN",
        kinds.RevisionNotFoundError: "no such revision; check it, or leave it out",
        kinds.LocalEntryNotFoundError: "not in the cache, and there is no connection, or "
        "HF_HUB_OFFLINE is set; fetch it once with a connection",
        kinds.HfHubHTTPError: "the Hub refuses",
        kinds.HTTPError: "no connection to the Hub; repeat the command to resume",
        ConnectionError: "no connection to the Hub; repeat the command to resume",
    }
    with storage_errors(Path(hub.constants.HF_HUB_CACHE)):
        try:
            yield
        except tuple(remedies) as error:
            remedy = next(text for kind, text in remedies.items() if isinstance(error, kind))
            reason = " ".join(str(error).split())
            raise DownloadError(
                f"{name}: {remedy} ({type(error).__name__}: {reason:.200})"
            ) from error
