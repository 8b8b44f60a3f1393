"""How figures are shown, whatever they are of."""

from __future__ import annotations

from studies.tables.page import page
from studies.tables.plan import TableConfig
from studies.tables.scoring import Cost, Line


def test_tests_beside_show_what_each_of_their_models_took() -> None:
    part = {"source": "a.en", "target": "a.de"}
    section = {
        "title": "All",
        "tests": ["news", "dev", "old"],
        "tests_beside": True,
        "rows": {"row": {"label": "Row", "translate": "x"}},
    }
    tests = dict.fromkeys(["news", "dev", "old"], part)
    table = TableConfig.model_validate({"title": "T", "tests": tests, "sections": [section]})
    small, large = Cost(100, 1_000_000, 60.0, 60.0), Cost(900, 9_000_000, 540.0, 600.0)

    def shown(*costs: Cost | None) -> str:
        scores = [{"name": "BLEU", "value": 1.0, "signature": "s"}]
        lines = [
            Line("row", "Row", test, "", scores=scores if cost else (), cost=cost)
            for test, cost in zip(tests, costs, strict=True)
        ]
        (found,) = [line for line in page(table, {"All": lines}).splitlines() if "| Row |" in line]
        return found

    both = "| 100; 900 | 1.00 M; 9.00 M | 1.0; 9.0 | 1.0; 10.0 |"
    assert shown(small, large, small).endswith(both)
    assert shown(None, small, small).endswith("| 100 | 1.00 M | 1.0 | 1.0 |")
    averaged = Cost(0, 0, 0.0, 60.0)
    assert shown(averaged, averaged, None).endswith("|  |  |  | 1.0 |")
    assert shown(averaged, large, None).endswith(
        "| unknown; 900 | unknown; 9.00 M | unknown; 9.0 | 1.0; 10.0 |"
    )
