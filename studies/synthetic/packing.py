"""What ``dragoman.text.synthetic`` carries: drawn with seed 1, packed, and its text digested."""

from __future__ import annotations

import bz2
import hashlib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.core.files import atomic_write
from dragoman.text import synthetic
from dragoman.text.synthetic import LANGUAGES, PACKED, ROWS, Saying
from studies.synthetic.generator import sayings

SEED = 1
PLACE = Path(synthetic.__file__).with_name(PACKED)
DIGEST = Path(__file__).with_name("corpus.sha256")
"""SHA-256 of the unpacked text, which does not depend on the compressor."""


def packed_text(packed: Path) -> bytes:
    """The text of a packed corpus.

    Raises:
        DataError: it is missing or damaged.
    """
    try:
        return bz2.decompress(packed.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(f"{packed}: missing or damaged; write it again with pack") from error


def drawn_text(rows: int = ROWS) -> bytes:
    """The expected text, from the generator: a header, and a line for each of the first rows."""
    return "".join(_lines(islice(sayings(SEED), rows))).encode()


def digest(text: bytes) -> str:
    """As ``corpus.sha256`` holds it."""
    return hashlib.sha256(text).hexdigest()


def pack(packed: Path = PLACE, recorded: Path = DIGEST) -> None:
    """Draw the corpus and write it, and its digest.

    Raises:
        StorageError: it cannot be written there.
    """
    text = drawn_text()
    with atomic_write(packed, "wb") as stream:
        stream.write(bz2.compress(text))
    with atomic_write(recorded) as stream:
        stream.write(f"{digest(text)}\n")


def check(packed: Path = PLACE, recorded: Path = DIGEST) -> None:
    """Draw the corpus again and compare.

    Raises:
        DataError: the packed corpus, or its digest, is not what the generator draws.
    """
    drawn = drawn_text()
    if packed_text(packed) != drawn:
        raise DataError(
            f"{packed}: not what the generator draws; if a change of the generator, Babel or "
            "num2words was meant to change the corpus, write it again with pack"
        )
    if not recorded.is_file() or recorded.read_text(encoding="utf-8").strip() != digest(drawn):
        raise DataError(f"{recorded}: not the digest of {packed.name}; write both with pack")


def _lines(drawn: Iterable[Saying]) -> Iterable[str]:
    yield "\t".join(("kind", *LANGUAGES)) + "\n"
    for saying in drawn:
        texts = (saying.texts[language] for language in LANGUAGES)
        yield "\t".join((saying.kind, *texts)) + "\n"
