"""The look of netsim's figures, for figures of one's own: `netsim.figures`.

    with netsim.figures.style():
        figure = netsim.figures.new_figure(3.5, 2.4)
        figure.add_subplot().plot([0, 1], color=netsim.figures.COLOURS[0])
    netsim.figures.save(figure, Path("mine.pdf"), "pdf")

`style` is the context in which figures are built; `new_figure` gives an empty one of so many
inches, which a notebook shows; `save` writes one whole, the same figure as the same bytes.
`COLOURS`, `MARKERS` and `LINES` tell methods apart, also for colour-blind readers and in grey;
`INK`, `FAINT`, `GRID` and `BLANK` are the greys. `legend` and `heatmap` draw as netsim does.
"""

from netsim.views.render.figure.style import (
    BLANK,
    COLOURS,
    FAINT,
    GRID,
    INK,
    LINES,
    MARKERS,
    heatmap,
    legend,
    new_figure,
    save,
    style,
)

__all__ = [
    "BLANK",
    "COLOURS",
    "FAINT",
    "GRID",
    "INK",
    "LINES",
    "MARKERS",
    "heatmap",
    "legend",
    "new_figure",
    "save",
    "style",
]
