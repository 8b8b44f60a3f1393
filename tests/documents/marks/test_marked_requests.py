"""Texts with marks, as they are sent to a service."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from echo_service import EchoService

from dragoman.documents.content import translate_contents
from dragoman.documents.marks import marked_requests
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.glossary_files import Term
from dragoman.translation.service.interface import TextRequest

PAGE = "<p>Use <code>getName2</code> here.</p>"


@pytest.mark.parametrize("count", [1, 1000])
def test_many_terms_are_prepared_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """They take seconds, in which nobody else would be answered."""
    beside = []

    def prepared(terms: Sequence[Term]) -> Glossary:
        try:
            asyncio.get_running_loop()
            beside.append(False)
        except RuntimeError:
            beside.append(True)
        return Glossary(terms)

    given = Glossary([Term(f"word {number}", ("Wort",)) for number in range(count)])
    request = TextRequest(PAGE, target="de", source="en", glossary=given)
    monkeypatch.setattr(marked_requests, "Glossary", prepared)
    service = EchoService()
    asyncio.run(translate_contents(service, [request], "html"))
    assert beside == [count == 1000]
    used = service.calls[-1][0].kept
    assert used is not None and len(used.terms) == count + 1
