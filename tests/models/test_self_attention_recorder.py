"""The weights of self-attention, as the layers use them."""

from __future__ import annotations

import pytest
import torch
from families import build

from dragoman.core.errors import ConfigError
from dragoman.models.deep_fusion import DeepFusion, DeepFusionConfig
from dragoman.models.families.bytenet import ByteNetConfig
from dragoman.models.families.recurrent import RecurrentConfig
from dragoman.models.families.transformer import TransformerConfig
from dragoman.models.families.transformer_lm import TransformerLMConfig
from dragoman.models.self_attention_recorder import SelfAttentionRecorder, self_attention
from dragoman.text.vocabularies import BOS, EOS


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "relative"])
def test_recorded_weights_make_the_output(positions: str) -> None:
    config = TransformerConfig(
        encoder_layers=2, decoder_layers=1, d_model=12, d_ff=8, heads=3, positions=positions
    )
    model = build(config).eval()
    source = torch.tensor([[5, 6, 7, EOS]])
    mask = torch.ones_like(source, dtype=torch.bool)
    recorder = SelfAttentionRecorder()
    with torch.no_grad():
        before = model.encode(source, mask).hidden
        with recorder.listening(model):
            heard = model.encode(source, mask).hidden
        model.encode(source, mask)
    assert torch.equal(before, heard)
    assert [tuple(one.shape) for one in recorder.layers] == [(1, 3, 4, 4)] * 2
    first = model.encoder[0].attention  # type: ignore[union-attr,index]
    x = torch.linspace(-1, 1, 48, dtype=torch.float64).sin().view(1, 4, 12)
    with torch.no_grad():
        own = first.keys_values(x)
        bias = torch.zeros(1, 1, 1, 4, dtype=torch.float64)
        by_hand = first.joined(first.weights(x, own, bias) @ own.values)
    if positions != "relative":  # which adds to values too
        assert torch.allclose(by_hand, first.mix(x, bias))


@pytest.mark.parametrize(
    "config",
    [
        RecurrentConfig(encoder_layers=1, decoder_layers=1, d_model=8),
        TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, window=3),
    ],
)
def test_encoders_without_such_heads(config: TransformerConfig | RecurrentConfig) -> None:
    with (
        pytest.raises(ConfigError, match="no heads"),
        SelfAttentionRecorder().listening(build(config)),
    ):
        pass


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "alibi", "buckets"])
def test_weights_of_one_sentence(positions: str) -> None:
    config = TransformerConfig(
        encoder_layers=1, decoder_layers=2, d_model=8, d_ff=8, heads=2, positions=positions
    )
    model = build(config).eval()
    source, target = torch.tensor([[5, 6, EOS]]), torch.tensor([[BOS, 6, 7, 8]])
    seen = self_attention(model, source)
    assert seen.shape == (1, 2, 3, 3)
    written = self_attention(model, source, target)
    assert written.shape == (2, 2, 4, 4)
    for weights in (seen, written):
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    assert float(written.triu(1).abs().max()) == 0  # nothing looks ahead
    assert float(seen.triu(1).abs().max()) > 0
    first = model.decoder[0]  # type: ignore[index]
    x = model.target_embedding(target)  # type: ignore[operator]
    own = first.self_attention.keys_values(x)  # type: ignore[union-attr]
    scores = first.self_attention.queries(x) @ own.keys.transpose(-1, -2) / 2  # type: ignore[union-attr]
    if positions == "sinusoidal":  # d_k is 4; the formula of section 3.2.1
        hidden = torch.full((4, 4), float("-inf")).triu(1)
        torch.testing.assert_close(written[:1], (scores + hidden).softmax(-1))


SIZES = {"d_model": 8, "d_ff": 8, "heads": 2}


def fused(translation: TransformerConfig | ByteNetConfig) -> DeepFusion:
    language_model = TransformerLMConfig(layers=1, d_model=12, d_ff=8, heads=3, window=3)
    config = DeepFusionConfig(translation=translation, language_model=language_model)
    model = build(config).eval()
    assert isinstance(model, DeepFusion)
    return model


def test_the_language_model_of_a_translator_is_not_its_decoder() -> None:
    model = fused(TransformerConfig(encoder_layers=1, decoder_layers=2, **SIZES))
    source, target = torch.tensor([[5, 6, EOS]]), torch.tensor([[BOS, 6, 7, 8]])
    expected = self_attention(model.translation, source, target)
    torch.testing.assert_close(self_attention(model, source, target), expected)
    with pytest.raises(ConfigError, match="no heads"):
        self_attention(fused(ByteNetConfig(d_model=8)), source, target)


@pytest.mark.parametrize("reads", ["causal", "full"])
def test_a_decoder_that_reads_the_source_itself(reads: str) -> None:
    """Its heads look at source and target at once: no weights are of the target alone."""
    model = build(TransformerLMConfig(layers=2, source=reads, **SIZES)).eval()
    source = torch.tensor([[5, 6, EOS]])
    with pytest.raises(ConfigError, match="source and target at once"):
        self_attention(model, source, torch.tensor([[BOS, 6, 7]]))
