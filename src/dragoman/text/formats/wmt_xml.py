"""Test sets in the XML of WMT since 2021: documents with a source, references and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from dragoman.core.errors import DataError
from dragoman.text.formats.interface import Format, Sides
from dragoman.text.pairs import Pair
from dragoman.text.xml_parts import each_part, local

_DOCUMENT = ("doc",)


class WmtXml(Format):
    """Source segments with their references (see github.com/wmt-conference/wmt-format-tools)."""

    name = "wmt-xml"
    counts = "segment"

    def read(self, files: Sequence[Path], sides: Sides) -> Iterator[Pair]:
        """Pairs of each source segment and its first reference, in constant memory.

        Like sacrebleu, it leaves out segments without a reference, and documents of test suites.

        Raises:
            DataError: not well-formed XML, or no segment has a reference.
        """
        (path,) = files
        number = 0
        for document in _documents(path):
            references = [_segments(part) for part in document if local(part) == "ref"]
            sources: dict[str, str] = {}
            for part in document:
                sources |= _segments(part) if local(part) == "src" else {}
            for name, source in sources.items():
                target = next(filter(None, (texts.get(name) for texts in references)), None)
                if target is not None:
                    number += 1
                    yield Pair(source, target, number)
        if not number:
            raise DataError(
                f"{path}: no segment of a source has a reference; is it another kind of XML?"
            )

    def languages(self, path: Path) -> tuple[str | None, str | None]:
        """The languages of the first document that has a source and a reference."""
        for document in _documents(path):
            named = {local(part): part.get("lang") for part in document}
            if {"src", "ref"} <= named.keys():
                return named["src"], named["ref"]
        return None, None


def _documents(path: Path) -> Iterator[Element]:
    documents = each_part(path, _DOCUMENT)
    return (document for document in documents if "testsuite" not in document.attrib)


def _segments(part: Element) -> dict[str, str]:
    """The text of each segment of a source or reference, by its ``id``."""
    found = (element for element in part.iter() if local(element) == "seg")
    return {seg.get("id", ""): " ".join("".join(seg.itertext()).split()) for seg in found}
