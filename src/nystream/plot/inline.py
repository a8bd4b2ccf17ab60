"""Convert a figure to SVG inside an HTML page: no files, no network, and colours that the page decides."""

from __future__ import annotations

import html
import io
import re

import matplotlib as mpl

from nystream.plot.style import GRID, INK, PALETTE, Figure

__all__ = ["DARK", "LIGHT", "inlined"]

_SPINE = "#999999"  # of axes and ticks, see `nystream.plot.style.frame`
_GREY = "#bbbbbb"

LIGHT = {"ink": INK, "paper": "#ffffff", "grid": GRID, "spine": _SPINE, "grey": _GREY} | {
    f"line{i}": color for i, color in enumerate(PALETTE)
}
"""Colours of the plots by the names of CSS variables."""

DARK = {"ink": "#dcdcdc", "paper": "#17191c", "grid": "#2f3338", "spine": "#70767d", "grey": "#565b61"} | {
    f"line{i}": color
    for i, color in enumerate(("#4fb0ea", "#ff8a3d", "#2cc99b", "#e59cc5", "#9bd6f8", "#f5b93a", "#a9a9a9"))
}
"""The same on a dark page: as far apart as before, and brighter."""


def inlined(figure: Figure, key: str, label: str) -> str:
    """Return the figure as an `<svg>` element.

    Parameters
    ----------
    figure : Figure
    key : str
        Different for every figure of a page: identifiers inside begin with it.
    label : str
        What it shows, for those who cannot see it.
    """
    text = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": key}):
        figure.savefig(text, format="svg", transparent=True, metadata=nothing)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")  # HTML knows what svg is
    svg = re.sub(r'\bid="', f'id="{key}-', svg)
    svg = re.sub(r'(href="|url\()#', rf"\1#{key}-", svg)
    svg = re.sub(r"<svg[^>]*>", lambda tag: _opened(tag[0], label), svg, count=1)
    return re.sub(r"#[0-9a-fA-F]{6}\b", _variable, svg)


def _opened(tag: str, label: str) -> str:
    """Return the opening tag without fixed sizes, so that it fills its place whatever the figure's inches."""
    tag = re.sub(r'\s(width|height|version)="[^"]*"', "", tag)
    return tag.replace("<svg", f'<svg role="img" aria-label="{html.escape(label)}"', 1)


def _variable(color: re.Match[str]) -> str:
    value = "#ffffff" if color[0].lower() == "#ffffff" else color[0].lower()
    names = {shade.lower(): name for name, shade in LIGHT.items()} | {"#000000": "ink"}
    return f"var(--{names[value]})" if value in names else color[0]
