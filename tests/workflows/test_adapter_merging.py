from __future__ import annotations

from pathlib import Path

from tiny_model import save_tiny_adapter, save_tiny_model

from dragoman.saved.model import CARD_FILE
from dragoman.workflows.adapter_merging import merge_adapter


def test_the_card_keeps_that_of_the_model(tmp_path: Path) -> None:
    """What people wrote into it too, such as a licence."""
    model = save_tiny_model(tmp_path / "model")
    (model / CARD_FILE).write_text("# Mine\n\nLicence: CC-BY-4.0.\n", encoding="utf-8")
    adapter = save_tiny_adapter(tmp_path / "adapter.safetensors", model)
    merge_adapter(model, adapter, tmp_path / "merged")
    card = (tmp_path / "merged" / CARD_FILE).read_text(encoding="utf-8")
    assert "made with Dragoman. It is the model with the weights" in card
    assert "\n> # Mine\n>\n> Licence: CC-BY-4.0.\n" in card
    assert "not recorded here" not in card
    (model / CARD_FILE).unlink()
    merge_adapter(model, adapter, tmp_path / "again")
    assert "not recorded here" in (tmp_path / "again" / CARD_FILE).read_text(encoding="utf-8")
