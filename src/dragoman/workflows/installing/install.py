"""Installing models: fetched, verified, opened, and only then put in their place."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.core.claims import new_output
from dragoman.core.errors import ConfigError, DataError, DragomanError, SavedError
from dragoman.core.files import atomic_directory, content_digest, storage_errors
from dragoman.saved.archive_members import ARCHIVES, LARGEST, archive_suffix
from dragoman.saved.installed_models import is_model_name, models_folder
from dragoman.saved.model import CONFIG_FILE, MODEL_FILES, load_model, model_directory, read_config
from dragoman.saved.weights import WEIGHTS_FILE
from dragoman.workflows.download import download
from dragoman.workflows.installing.model_archives import DIGEST_SUFFIX, unpack
from dragoman.workflows.progress import counted_bytes

Say = Callable[[str], object]
"""Reports a line about the work."""

_DOWNLOADS = ".downloads"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_IN_ADDRESSES = "%/:?@!$&'()*+,;=~[]|"  # unquoted in a path or query
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]")  # in the name of a downloaded file
_LONGEST_NAME = 100
_DIGEST_BYTES = 4096  # of a .sha256 file


class ModelOrigin(NamedTuple):
    """The origin of a model to be installed."""

    place: str
    """A path, or an address of http or https without a fragment."""
    sha256: str
    """Digest of the archive; empty if unknown."""
    is_remote: bool

    @property
    def file_name(self) -> str:
        """Its last part."""
        if not self.is_remote:
            return Path(os.path.abspath(self.place)).name
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.place).path)
        return path.rpartition("/")[2]


def install(
    place: str, say: Say, *, name: str | None = None, sha256: str = "", force: bool = False
) -> Path:
    """Put a model into the folder of installed models.

    Args:
        place: an archive, a model directory or run, or an address of http or https, which may end
            in ``#sha256=DIGEST``.
        name: of the model; by default that of its file or directory.
        sha256: digest of the archive; by default, read from a file beside it.
        force: whether a model of that name is replaced.

    Returns:
        Its directory.

    Raises:
        ConfigError: the name, digest or address is invalid, or the name is taken; or the address
            is insecure (anyone on the way can change the content) and has no digest.
    """
    with _errors_of_a_model():
        origin = _origin(place, sha256)
    name = name or _name_of(origin)
    if not is_model_name(name):
        raise ConfigError(
            f"{name!r:.120} cannot be the name of a model; give another with --name, of letters, "
            "digits and . _ + - only"
        )
    target = models_folder() / name
    remedy = "replace it with --force, or give the new one another name with --name"
    with _errors_of_a_model(), nullcontext() if force else new_output(target, remedy):
        if not origin.is_remote and Path(origin.place).is_dir():
            return _installed(target, lambda folder: _copy(Path(origin.place), folder), say)
        with _archive(origin, say) as archive:
            return _installed(target, lambda folder: _unpacked(archive, folder, say), say)


@contextmanager
def _errors_of_a_model() -> Iterator[None]:
    """Turn errors in an archive into errors of a model, since no text is involved."""
    try:
        yield
    except DataError as error:
        raise SavedError(str(error)) from error


def _origin(place: str, sha256: str) -> ModelOrigin:
    is_remote = place.lower().startswith(("http://", "https://"))
    address, _, fragment = place.partition("#") if is_remote else (place, "", "")
    if fragment:
        key, _, value = fragment.partition("=")
        if key != "sha256" or not value or (sha256 and value.lower() != sha256.lower()):
            raise ConfigError(
                f"#{fragment:.80}: expected #sha256=DIGEST, the same as with --sha256, if given"
            )
        sha256 = value
    sha256 = sha256.lower()
    if sha256 and not _DIGEST.fullmatch(sha256):
        raise ConfigError(f"{sha256:.80}: expected a SHA-256 of 64 hexadecimal digits")
    if not is_remote:
        return ModelOrigin(address, sha256, is_remote)
    parts = _split_address(address)
    if parts.scheme == "http" and not sha256 and parts.hostname not in _LOOPBACK:
        raise ConfigError(
            f"{address}: anyone on the way can change what comes over http; use https, or give the "
            "digest of the archive with --sha256"
        )
    return ModelOrigin(urllib.parse.urlunsplit(parts), sha256, is_remote)


def _split_address(address: str) -> urllib.parse.SplitResult:
    """The parts of an address, in the form of a request: a space as %20."""
    try:
        parts = urllib.parse.urlsplit(address)
        known = bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets without IPv6, a port that is not a number
        known = False
    if not known or not parts.netloc.isprintable() or " " in parts.netloc:
        raise ConfigError(
            f"{address!r:.200}: no address; expected one such as https://example.org/en-de.tar.gz"
        )
    path, query = (
        urllib.parse.quote(part, safe=_IN_ADDRESSES, errors="replace")
        for part in (parts.path, parts.query)
    )
    return parts._replace(path=path, query=query)


def _name_of(origin: ModelOrigin) -> str:
    name = origin.file_name
    suffix = archive_suffix(name)
    return name if suffix is None else name[: -len(suffix)]


def _installed(target: Path, fill: Callable[[Path], None], say: Say) -> Path:
    """Fill a new directory with a model; it appears once the model opens."""
    with atomic_directory(target, MODEL_FILES) as folder:
        fill(folder)
        say("opening the model")
        try:
            load_model(folder, "cpu")
        except DragomanError as error:
            text = str(error).replace(f"{folder}/", "")
            raise SavedError(f"the model does not open, and is not installed: {text}") from error
    say(f"installed: {target}")
    return target


def _copy(source: Path, folder: Path) -> None:
    """The files of a model directory, or of the model of a run."""
    directory = model_directory(source)
    if not (directory / CONFIG_FILE).is_file():
        raise SavedError(
            f"{source}: a checkpoint; make a model of it with 'dragoman average', and install that"
        )
    for name in sorted(MODEL_FILES):
        path = directory / name
        with storage_errors(folder / name):
            if path.is_dir():
                shutil.copytree(path, folder / name)
            elif path.is_file():
                shutil.copyfile(path, folder / name)


def _unpacked(archive: Path, folder: Path, say: Say) -> None:
    with counted_bytes("unpacking", None) as advance:
        left_out = unpack(archive, folder, advance)
    if left_out:
        more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
        say(f"left out, as they are no files of a model: {', '.join(left_out[:3])}{more}")


@contextmanager
def _archive(origin: ModelOrigin, say: Say) -> Iterator[Path]:
    """The archive as a file with a verified digest."""
    if origin.is_remote:
        with _downloaded(origin, say) as archive:
            yield archive
        return
    archive = Path(origin.place)
    if not archive.is_file():
        raise DataError(
            f"{archive}: no such file or directory; name an archive, a model directory or an "
            "address that begins with https://"
        )
    _check_suffix(archive.name)
    expected = origin.sha256 or _digest_beside(archive)
    if expected:
        digest = content_digest(archive)
        if digest != expected:
            raise DataError(
                f"{archive}: its SHA-256 is {digest}, not {expected}; it is another file or damaged"
            )
    say(f"{archive}: {'verified' if expected else 'there is no digest to verify it with'}")
    yield archive


def _check_suffix(name: str) -> None:
    if archive_suffix(name) is None:
        raise DataError(f"{name!r:.120}: expected an archive that ends in {', '.join(ARCHIVES)}")


def _digest_beside(archive: Path) -> str:
    """The digest in the file beside an archive, in sha256sum's format; empty without that file."""
    beside = archive.with_name(archive.name + DIGEST_SUFFIX)
    try:
        with beside.open("rb") as stream:
            text = stream.read(_DIGEST_BYTES).decode("ascii", "replace").split()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise DataError(f"{beside}: cannot be read: {error.strerror}") from error
    if not text or not _DIGEST.fullmatch(text[0].lower()):
        raise DataError(f"{beside}: expected a SHA-256 of 64 hexadecimal digits; remove or fix it")
    return text[0].lower()


@contextmanager
def _downloaded(origin: ModelOrigin, say: Say) -> Iterator[Path]:
    _check_suffix(origin.file_name)
    folder = models_folder() / _DOWNLOADS
    # Archives of one name at different addresses differ, and must not resume one another.
    address = hashlib.sha256(origin.place.encode("utf-8", "surrogatepass")).hexdigest()
    name = _UNSAFE.sub("_", origin.file_name)[-_LONGEST_NAME:]
    target = folder / f"{address[:16]}-{name}"
    say(f"downloading {origin.place}")
    with counted_bytes("downloading", None) as advance:
        download(
            origin.place,
            target,
            advance,
            limit=LARGEST,
            sha256=origin.sha256,
            otherwise="name the file instead",
            stays_secure=not origin.sha256,
        )
    try:
        say("verified" if origin.sha256 else "there is no digest to verify it with")
        yield target
    finally:
        target.unlink(missing_ok=True)
        with suppress(OSError):  # another download is there
            folder.rmdir()


def installed_models() -> list[dict[str, Any]]:
    """The facts that ``dragoman install --list`` shows about each model, sorted by name."""
    folder = models_folder()
    try:
        names = sorted(name for name in os.listdir(folder) if is_model_name(name))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise SavedError(f"{folder}: cannot be read: {error.strerror}") from error
    return [_described(folder / name) for name in names]


def _described(directory: Path) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": directory.name, "directory": str(directory)}
    try:
        config = read_config(directory / CONFIG_FILE)
        size = (directory / WEIGHTS_FILE).stat().st_size
    except (DragomanError, OSError) as error:
        return {**shown, "directions": [], "bytes": None, "problem": str(error)}
    pairs = [
        (direction.source_language, direction.target_language)
        for direction in config.directions
        if direction.source_language != direction.target_language
    ]
    pairs = pairs or [(config.source_language, config.target_language)]
    directions = list(dict.fromkeys(f"{source}-{target}" for source, target in pairs))
    return {**shown, "directions": directions, "bytes": size, "problem": None}
