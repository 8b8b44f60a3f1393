"""Results of fairseq's models, to compare ours with; run in the peers' environment.

fairseq_cases.py FOLDER     NAME.full.safetensors and NAME.padded.safetensors for each case

Weights are random, in float64.  A file contains them under fairseq's names, the ids, the results of
the model, and the gradients of the summed negative log-likelihood; its metadata is the
configuration of our model of the same sizes.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from fairseq import utils
from fairseq_models import SPECIAL, model_of
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

VOCABULARY = 61
SOURCES = {"full": (7, 7, 7), "padded": (11, 4, 7, 1)}
"""Lengths of the sentences in a batch, without the end symbol."""
TARGETS = {"full": (6, 6, 6), "padded": (8, 9, 3, 5)}

CONVS2S = {
    "family": "convs2s",
    "encoder_layers": 4,
    "decoder_layers": 3,
    "d_model": 24,
    "d_hidden": 32,
    "encoder_kernel_width": 5,
    "decoder_kernel_width": 3,
    "max_positions": 32,
    "dropout": 0.0,
}
RECURRENT = {
    "family": "recurrent",
    "encoder_layers": 2,
    "decoder_layers": 2,
    "d_model": 24,
    "attention": "general",
    "embeddings": "target",
    "dropout": 0.0,
}
TRANSFORMER = {
    "family": "transformer",
    "encoder_layers": 3,
    "decoder_layers": 2,
    "d_model": 24,
    "d_ff": 40,
    "heads": 4,
    "positions": "learned",
    "max_positions": 32,
    "dropout": 0.0,
}

Tensors = dict[str, Tensor]


class AfterResidual(nn.Module):
    """An attention of ``fconv`` after the residual sum, as in section 3.3.

    fairseq's layers attend between the gate and the residual sum.
    """

    def __init__(self, attention: nn.Module, convolution: nn.Module) -> None:
        super().__init__()
        self.attention = attention
        convolution.register_forward_pre_hook(self.note)

    def note(self, _: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self.below = inputs[0].transpose(0, 1)  # convolutions have (length, batch, width)

    def forward(self, gated: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
        return self.attention((gated + self.below) * math.sqrt(0.5), *others)


def follow_the_paper(model: Any) -> None:
    """Attention after the residual sum, and gradients shared as in section 3.4."""
    decoder = model.decoder
    for number, convolution in enumerate(decoder.convolutions):
        decoder.attention[number] = AfterResidual(decoder.attention[number], convolution)
        decoder.residuals[number] = 0  # in fairseq, this means no residual sum
    share_gradients(model)


def share_gradients(model: Any) -> None:
    """Divide gradients of the encoder's layers by the number of attentions, not by twice that."""
    model.encoder.num_attention_layers = len(model.decoder.attention) / 2


def without_biases(model: Any) -> None:
    """Remove biases of attention, which the paper's has not."""
    for name, parameter in model.named_parameters():
        if "_proj.bias" in name:
            nn.init.zeros_(parameter)


def padded(rows: list[Tensor], padding: int) -> Tensor:
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=padding)


def ids(kind: str, symbols: Any) -> Tensors:
    """Sources that end with the end symbol, targets shifted by one."""

    def sentences(lengths: tuple[int, ...]) -> list[Tensor]:
        return [torch.randint(SPECIAL, VOCABULARY, (length,)) for length in lengths]

    end = torch.tensor([symbols.eos()])
    targets = sentences(TARGETS[kind])
    return {
        "source": padded([torch.cat([s, end]) for s in sentences(SOURCES[kind])], symbols.pad()),
        "target": padded([torch.cat([end, s]) for s in targets], symbols.pad()),
        "gold": padded([torch.cat([s, end]) for s in targets], symbols.pad()),
    }


def of_convolutional(model: Any, source: Tensor, target: Tensor) -> Tensors:
    memory = model.encoder(source, None)
    logits, attention = model.decoder(target, memory)
    z, values = memory["encoder_out"]
    return {"encoder": z, "values": values, "logits": logits, "attention": attention}


def of_recurrent(model: Any, source: Tensor, target: Tensor) -> Tensors:
    lengths = (source != model.encoder.padding_idx).sum(1)
    hidden, *ends, mask = model.encoder(source, lengths, enforce_sorted=False)
    decoder, first = model.decoder, {}
    if model.encoder.bidirectional:  # cut off the given initial states, which ours lacks
        ends = [end.detach() for end in ends]
        projections = decoder.encoder_hidden_proj, decoder.encoder_cell_proj
        for name, end, project in zip(("hidden", "cell"), ends, projections, strict=True):
            first[f"first.{name}"] = project(end)
    logits, attention = decoder(target, (hidden, *ends, mask))
    return {"encoder": hidden.transpose(0, 1), "logits": logits, "attention": attention, **first}


def of_transformer(model: Any, source: Tensor, target: Tensor) -> Tensors:
    memory = model.encoder(source)
    logits, more = model.decoder(target, memory)
    hidden, attention = memory["encoder_out"][0].transpose(0, 1), more["attn"][0]
    return {"encoder": hidden, "logits": logits, "attention": attention}


RUN = {
    "FConvModel": of_convolutional,
    "LSTMModel": of_recurrent,
    "TransformerModel": of_transformer,
}


def case(model: Any, parameters: dict[str, nn.Parameter], kind: str) -> Tensors:
    """Weights, ids, results and gradients."""
    symbols = model.encoder.dictionary
    given = ids(kind, symbols)
    found = RUN[type(model).__name__](model, given["source"], given["target"])
    log_p = found.pop("logits").log_softmax(-1)
    real = given["gold"] != symbols.pad()
    model.zero_grad()
    (-log_p.gather(-1, given["gold"].unsqueeze(-1)).squeeze(-1)[real]).sum().backward()
    tensors = {**given, **found, "log_probabilities": log_p}
    for name, parameter in parameters.items():
        tensors[f"weights.{name}"] = parameter
        if parameter.grad is not None:
            tensors[f"gradients.{name}"] = parameter.grad
    return {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}


def write(
    folder: Path,
    name: str,
    shape: dict[str, Any],
    change: Callable[[nn.Module], None] = lambda model: None,
) -> None:
    for number, kind in enumerate(SOURCES):
        torch.manual_seed(number + 1)
        model = model_of(shape, VOCABULARY).double().eval()
        with torch.no_grad():  # non-trivial biases and gains of weight normalisation
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.2)
        parameters = dict(model.named_parameters())
        change(model)
        metadata = {"config": json.dumps(shape), "vocabulary": json.dumps(VOCABULARY)}
        tensors = case(model, parameters, kind)
        save_file(tensors, folder / f"{name}.{kind}.safetensors", metadata=metadata)


def stay_in_float64() -> None:
    """Keep attention scores in float64: fairseq converts them to float32, which loses digits."""
    torch.Tensor.float = torch.Tensor.double  # type: ignore[method-assign]
    utils.softmax = lambda scores, dim, onnx_trace=False: functional.softmax(scores, dim)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    stay_in_float64()
    write(target, "fconv", CONVS2S, share_gradients)
    write(target, "fconv-paper", CONVS2S, follow_the_paper)
    write(target, "lstm", {**RECURRENT, "bidirectional": "none"})
    write(target, "lstm-bidirectional", {**RECURRENT, "bidirectional": "all"})
    write(target, "transformer", TRANSFORMER, without_biases)
