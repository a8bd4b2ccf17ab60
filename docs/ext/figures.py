"""The figures of the gallery: those of pyplot, and the variable `figure` of an example (a chart of nystream.plot)."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def scraper(block: tuple[Any, ...], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    drawn = [plt.figure(number) for number in plt.get_fignums()]
    own = block_vars["example_globals"].pop("figure", None)
    if isinstance(own, Figure) and own not in drawn:
        drawn.append(own)
    paths = []
    for figure, path in zip(drawn, block_vars["image_path_iterator"], strict=False):
        figure.savefig(path, bbox_inches="tight", dpi=110)
        paths.append(path)
    plt.close("all")
    return figure_rst(paths, gallery_conf["src_dir"])
