"""The averaging encoder: attention over smoothed embeddings (Ranzato et al. 2016).

It reads a source without any layer that learns how positions depend on each other.  It follows Rush
et al. (2015) and Ranzato et al. (arXiv:1511.06732), in the notation of Gehring et al.
(arXiv:1611.02344, section 3.1), where ``e_j`` is the sum of word and position embedding:

    z_j = 1 / q * sum of e_(j + t) over t from -(q - 1) / 2 to (q - 1) / 2
    a_ij = softmax over j of (d_i . z_j),    c_i = sum over j of a_ij e_j

Keys are thus smoothed and values are not.  Any decoder with attention can use it.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional


class AveragingEncoder(nn.Module):
    """Embeddings to keys and values, without parameters.

    Args:
        window: q, odd: number of positions that a key averages; zeros beyond the sentence.
    """

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window

    def forward(self, embedded: Tensor, source_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values, of the shape of ``embedded``, ``(batch, source, d_model)``."""
        values = embedded * source_mask.unsqueeze(2)
        # On a GPU, PyTorch's gradient of a pool that pads columns side by side in memory was wrong
        # (github.com/pytorch/pytorch/issues/188344), so the zeros are added before the pool.
        padded = functional.pad(values, (0, 0, self.window // 2, self.window // 2))
        keys = functional.avg_pool1d(padded.transpose(1, 2), self.window, stride=1)
        return keys.transpose(1, 2), values
