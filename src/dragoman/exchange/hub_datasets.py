"""Data sets by name, such as ``hf:datasets/ORG/NAME@REVISION``, fetched from the Hugging Face Hub.

The transfers are those of :mod:`dragoman.exchange.hub`, with its cache and variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from dragoman.core.errors import ConfigError, DownloadError
from dragoman.core.wording import named
from dragoman.exchange.hub import (
    cached_card,
    card_licence,
    hub_api,
    hub_endpoint,
    hub_errors,
    huggingface_hub_library,
)
from dragoman.text.formats.interface import instead
from dragoman.text.language_codes import common_language, is_language_tag

PREFIX = "hf:datasets/"
_NAME = re.compile(r"hf:datasets/([\w.-]+/[\w.-]+)(?:@([\w./-]+))?(?:#([\w.+-]+))?", re.ASCII)
CARD = "README.md"
_DATA = (".parquet", ".jsonl", ".ndjson", ".json", ".tsv", ".csv")
_COMPRESSED = (".gz", ".xz", ".zst")
_SETS = {"train": "train", "dev": "dev", "validation": "dev", "valid": "dev", "val": "dev"} | {
    "devtest": "test",
    "test": "test",
}
"""Our names of the sets that data sets have."""
_SET = re.compile(rf"(?<![a-z])({'|'.join(sorted(_SETS, key=len, reverse=True))})(?![a-z])")
_CITATION = re.compile(r"@\w+\s*\{.*?\n\s*\}", re.DOTALL)
_DEFAULT = "default"

Subsets = dict[str, dict[str, list[str]]]
"""Files by subset, such as ``en-ko``, and set, such as ``train``."""


@dataclass(frozen=True)
class HubDataset:
    """A data set at one revision."""

    repository: str
    """Such as ``Helsinki-NLP/opus-100``."""
    asked: str | None
    """The revision that its name asks for: a branch, tag or commit."""
    revision: str
    """The commit, which never changes."""
    subset: str | None
    """As its name asks for."""
    licence: str | None
    """As the card states it."""
    sizes: Mapping[str, int]
    """Bytes of the files that are there, or in the cache while offline."""
    configs: tuple[Mapping[str, Any], ...]
    """The subsets, as the card describes them."""
    languages: tuple[str, str] | None
    """Those of the card, if it states two."""

    def name(self, subset: str) -> str:
        """The name that always gets the same text again."""
        return f"{PREFIX}{self.repository}@{self.revision}#{subset}"

    @property
    def home(self) -> str:
        """The page about it."""
        return f"{hub_endpoint() or 'https://huggingface.co'}/datasets/{self.repository}"


def is_dataset_name(name: str) -> bool:
    """Whether a name is of a data set on the Hub."""
    return name.startswith(PREFIX)


def look_up(name: str) -> HubDataset:
    """What the Hub, or the cache while offline, says about a data set, before a download.

    Raises:
        ConfigError: this is no such name.
        DownloadError: there is no such data set or revision, or no access or connection.
        MissingExtraError: huggingface_hub is not installed.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise ConfigError(
            f"{name:.120}: no name of a data set, such as hf:datasets/Helsinki-NLP/opus-100, or "
            "with a revision and a subset hf:datasets/ORG/NAME@REVISION#SUBSET"
        )
    repository, revision = match[1], match[2]
    if huggingface_hub_library().constants.HF_HUB_OFFLINE:
        path = _snapshot(name, repository, revision, [CARD])
        files = (file for file in path.rglob("*") if file.is_file())
        sizes = {file.relative_to(path).as_posix(): file.stat().st_size for file in files}
        return _dataset(match, path.name, cached_card(path), sizes)
    with hub_errors(name, "data set"):
        info = hub_api().dataset_info(repository, revision=revision, files_metadata=True)
    sizes = {one.rfilename: one.size or 0 for one in info.siblings or ()}
    return _dataset(match, str(info.sha), info.card_data, sizes)


def _dataset(name: re.Match[str], revision: str, data: Any, sizes: Mapping[str, int]) -> HubDataset:
    """The data set with what the front matter of its card says, if it has any."""
    fields: Mapping[str, Any] = {} if data is None else data.to_dict()
    configs = fields.get("configs")
    found = [one for one in configs if isinstance(one, dict)] if isinstance(configs, list) else []
    codes = fields.get("language")
    two = isinstance(codes, list) and len(codes) == 2 and all(map(is_language_tag, map(str, codes)))
    return HubDataset(
        name[1],
        name[2],
        revision,
        name[3],
        card_licence(data),
        sizes,
        tuple(found),
        (str(codes[0]), str(codes[1])) if two and codes else None,
    )


def fetch_files(dataset: HubDataset, files: Sequence[str]) -> Path:
    """The folder with files of a data set, and its card, downloaded unless they are in the cache.

    Raises:
        DownloadError: there is no connection, or a file is not in the cache while offline.
    """
    name = f"{PREFIX}{dataset.repository}"
    path = _snapshot(name, dataset.repository, dataset.asked, [*files, CARD])
    if path.name != dataset.revision:
        raise DownloadError(f"{name}: was changed just now; repeat the command")
    if missing := [file for file in files if not (path / file).is_file()]:
        raise DownloadError(
            f"{name}: {missing[0]} is not in the cache, and HF_HUB_OFFLINE is set; fetch it once "
            "with a connection"
        )
    return path


def citations(folder: Path) -> tuple[str, ...]:
    """What the card in a folder asks to cite, as BibTeX."""
    card = folder / CARD
    return tuple(_CITATION.findall(card.read_text("utf-8"))) if card.is_file() else ()


def _snapshot(name: str, repository: str, revision: str | None, files: Sequence[str]) -> Path:
    hub = huggingface_hub_library()
    with hub_errors(name, "data set"):
        path = hub.snapshot_download(
            repository,
            repo_type="dataset",
            revision=revision,
            cache_dir=hub.constants.HF_HUB_CACHE,
            allow_patterns=[*map(_literal, files)],
            endpoint=hub_endpoint(),
            local_files_only=bool(hub.constants.HF_HUB_OFFLINE),
        )
    return Path(path)


def _literal(name: str) -> str:
    """A pattern that only fits this name."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def choose_subset(
    dataset: HubDataset, languages: tuple[str, str] | None
) -> tuple[str, dict[str, list[str]]]:
    """The subset that is asked for by name or by its languages, and its files by set.

    Args:
        languages: of the pairs, if they are known.

    Raises:
        ConfigError: there is no such subset, or several may be meant.
    """
    subsets = _subsets(dataset)
    if not subsets:
        raise ConfigError(
            f"{PREFIX}{dataset.repository}: has no files in Parquet, JSON lines, TSV or CSV; "
            "give a revision that has them, such as @refs/convert/parquet"
        )
    wanted = dataset.subset
    if wanted is None:
        fitting = [name for name in subsets if languages and _is_of(name, languages)]
        wanted = (fitting or [_DEFAULT])[0] if len(subsets) > 1 else next(iter(subsets))
    if wanted in subsets:
        return wanted, subsets[wanted]
    if dataset.subset is None:
        raise ConfigError(
            f"{PREFIX}{dataset.repository}: has several subsets; add #SUBSET to its name, or give "
            f"--languages: {named(list(subsets)[:12])}"
        )
    raise ConfigError(
        f"{PREFIX}{dataset.repository}: no subset {wanted!r}{instead(wanted, subsets, 'subsets')}"
    )


def languages_of(subset: str) -> tuple[str, str] | None:
    """The two languages that a subset such as ``en-ko`` or ``wmt_ko_en`` is named after."""
    for parts in (subset.split("-"), re.split("[-_]", subset)):
        codes = [part for part in parts if is_language_tag(part)]
        if len(codes) == 2 and common_language(codes[0]) != common_language(codes[1]):
            return codes[0], codes[1]
    return None


def _is_of(subset: str, languages: tuple[str, str]) -> bool:
    found = languages_of(subset)
    return found is not None and set(map(common_language, found)) == set(
        map(common_language, languages)
    )


def _subsets(dataset: HubDataset) -> Subsets:
    """The files of all subsets: as the card lists them, or by the names of folders and files.

    Sets other than those for training, validation and testing are left out.
    """
    found: Subsets = {}
    for subset, set_name, file in [*_listed(dataset)] or [*_guessed(dataset)]:
        if set_name in _SETS:
            found.setdefault(subset, {}).setdefault(_SETS[set_name], []).append(file)
    return found


def _listed(dataset: HubDataset) -> Iterator[tuple[str, str, str]]:
    """Subset, set and name of the files that the card lists."""
    for config in dataset.configs:
        subset = str(config.get("config_name", _DEFAULT))
        for set_name, patterns in _patterns(config.get("data_files")):
            for file in sorted(dataset.sizes):
                if _is_data(file) and any(fnmatchcase(file, one) for one in patterns):
                    yield subset, set_name, file


def _patterns(files: Any) -> Iterator[tuple[str, list[str]]]:
    """Sets and patterns of their files, in all the forms that cards have."""
    if isinstance(files, str):
        yield "train", [files]
    elif isinstance(files, Mapping):
        yield from ((str(name), _as_list(paths)) for name, paths in files.items())
    elif isinstance(files, list):
        for one in files:
            if isinstance(one, Mapping):
                yield str(one.get("split", "train")), _as_list(one.get("path"))
            else:
                yield "train", [str(one)]


def _as_list(paths: Any) -> list[str]:
    return [*map(str, paths)] if isinstance(paths, list) else [str(paths)]


def _guessed(dataset: HubDataset) -> Iterator[tuple[str, str, str]]:
    """The same from folders such as ``en-ko`` and file names such as ``validation-0.parquet``."""
    for file in sorted(filter(_is_data, dataset.sizes)):
        folders = [part for part in PurePosixPath(file).parts[:-1] if part not in {"data", *_SETS}]
        match = _SET.search(file.lower())
        yield folders[0] if folders else _DEFAULT, match[1] if match else "train", file


def _is_data(file: str) -> bool:
    return file_kind(file) is not None


def file_kind(file: str) -> str | None:
    """The suffix of a file of data without its compression; None for other files."""
    path = PurePosixPath(file)
    suffix = path.with_suffix("").suffix if path.suffix in _COMPRESSED else path.suffix
    hidden = path.name.startswith(".") or path.name in {"dataset_infos.json", "package.json"}
    return suffix if suffix in _DATA and not hidden else None
