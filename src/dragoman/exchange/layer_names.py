"""Names of the parts of a Transformer's layers in another toolkit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SIDES = ("encoder", "decoder")


@dataclass(frozen=True, kw_only=True)
class LayerNames:
    """A table of names, to which ``.weight`` and ``.bias`` are added."""

    encoder_layer: str = "encoder.layers.{number}"
    decoder_layer: str = "decoder.layers.{number}"
    attention: str
    """Attention of an encoder layer."""
    self_attention: str
    """Attention of a decoder layer to earlier pieces."""
    cross_attention: str
    projections: Mapping[str, str]
    """Their names by ours: ``query``, ``key``, ``value`` and ``output``."""
    feed_forward: Mapping[str, str]
    """Their names by ours: ``inner`` and ``outer``."""
    gated: Mapping[str, str] | None = None
    """The same with ``gate``, of a feed-forward sublayer with a gate (SwiGLU)."""
    encoder_norms: tuple[str, ...]
    """Of the normalisations of an encoder layer, in the order of its sublayers."""
    decoder_norms: tuple[str, ...]
    final_norm: str = "{side}.layer_norm"

    def place(self, side: str, number: int) -> str:
        """The name of a layer of the encoder or the decoder."""
        layer = self.encoder_layer if side == "encoder" else self.decoder_layer
        return layer.format(number=number)

    def attentions(self, side: str) -> dict[str, str]:
        """Their names of the attentions of a layer, by ours."""
        if side == "encoder":
            return {"attention": self.attention}
        return {"self_attention": self.self_attention, "cross_attention": self.cross_attention}

    def norms(self, side: str) -> dict[str, str]:
        """Their names of the normalisations of a layer, by ours."""
        names = self.encoder_norms if side == "encoder" else self.decoder_norms
        return {f"residuals.{place}.norm": name for place, name in enumerate(names)}

    def sublayers(self, *, gated: bool = False) -> dict[str, str]:
        """Their names of the parts of a feed-forward sublayer, by ours."""
        names = self.gated if gated and self.gated is not None else self.feed_forward
        return {f"feed_forward.{ours}": theirs for ours, theirs in names.items()}

    def layers(self, encoder_layers: int, decoder_layers: int) -> dict[str, str]:
        """Their names of the parts of all layers without a gate, by ours."""
        names: dict[str, str] = {}
        for side, count in zip(SIDES, (encoder_layers, decoder_layers), strict=True):
            parts = {
                f"{ours}.{projection}": f"{theirs}.{theirs_of}"
                for ours, theirs in self.attentions(side).items()
                for projection, theirs_of in self.projections.items()
            }
            parts |= self.sublayers() | self.norms(side)
            for number in range(count):
                there = self.place(side, number)
                names |= {f"{side}.{number}.{our}": f"{there}.{one}" for our, one in parts.items()}
        return names


FAIRSEQ = LayerNames(
    attention="self_attn",
    self_attention="self_attn",
    cross_attention="encoder_attn",
    projections={"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"},
    feed_forward={"inner": "fc1", "outer": "fc2"},
    encoder_norms=("self_attn_layer_norm", "final_layer_norm"),
    decoder_norms=("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
)
"""Of fairseq, and of MarianMTModel and others of Hugging Face."""
