"""Lines of the site: what must stay on one of them."""

from __future__ import annotations

import pytest

from website.line_breaks import whole


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("<td>40 %</td>", "<td>40\u00a0%</td>"),
        ("<p>61 to 68 % of 5</p>", "<p>61 to 68\u00a0% of 5</p>"),
        ("<td>+0.8 [+0.2, +1.4] (0.01)</td>", "<td>+0.8 [+0.2,\u00a0+1.4] (0.01)</td>"),
        ("<p>[one, two]</p>", "<p>[one, two]</p>"),
        (
            "<code>--engine auto -q</code>",
            '<code><span class="whole">--engine</span> auto <span class="whole">-q</span></code>',
        ),
        ("<code>en-de</code>", "<code>en-de</code>"),
        ('<pre id="a"><code>x 5 %\n--y</code></pre>', '<pre id="a"><code>x 5 %\n--y</code></pre>'),
        ('<a title="5 %">6 %</a>', '<a title="5 %">6\u00a0%</a>'),
    ],
)
def test_options_and_figures_stay_whole(written: str, shown: str) -> None:
    assert whole(written) == shown
