"""Small HTML cards for notebooks: a title, facts and a table, in the colours of the page around them."""

from __future__ import annotations

import html
from collections.abc import Sequence

__all__ = ["card"]

STYLE = (
    ".nystream-card{display:inline-block;max-width:46em;padding:.7em 1em;border:1px solid rgba(128,128,128,.45);"
    "border-radius:6px;font:13px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;color:inherit}"
    ".nystream-card>b{font-size:1.1em}"
    ".nystream-card code{display:block;margin:.15em 0 .4em;padding:0;background:none;color:inherit;opacity:.75;"
    "font:.92em/1.45 ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre-wrap;"
    "overflow-wrap:anywhere}"
    ".nystream-card table{margin:.3em 0 0;border-collapse:collapse;border:0;font-size:1em;color:inherit;"
    "font-variant-numeric:tabular-nums;background:none}"
    ".nystream-card tr,.nystream-card thead tr{background:none!important;border:0}"
    ".nystream-card td,.nystream-card th{padding:.12em 1.2em .12em 0;border:0;text-align:left;vertical-align:top;"
    "background:none;color:inherit;max-width:34em;overflow-wrap:anywhere}"
    ".nystream-card th{font-weight:400;opacity:.7;white-space:nowrap}"
    ".nystream-card .numbers td,.nystream-card .numbers th{text-align:right;white-space:nowrap}"
    ".nystream-card .numbers td:first-child,.nystream-card .numbers th:first-child{text-align:left}"
    ".nystream-card .numbers thead th{border-bottom:1px solid rgba(128,128,128,.45)}"
    ".nystream-card .best{font-weight:700}"
)
"""The colours come from the page, so a card is readable in dark mode too."""
LONGEST = 600
"""Largest number of characters of a text that a card shows."""


def card(
    title: str,
    code: str = "",
    facts: Sequence[tuple[str, str]] = (),
    header: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    best: Sequence[tuple[int, int]] = (),
) -> str:
    """Return the HTML of a card. All texts are escaped. `best` holds the (row, column) of the highlighted cells."""
    parts = [f"<style>{STYLE}</style>", '<div class="nystream-card">', f"<b>{_text(title)}</b>"]
    if code:
        parts.append(f"<code>{_text(code)}</code>")
    if facts:
        lines = "".join(f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in facts)
        parts.append(f"<table>{lines}</table>")
    if rows:
        head = "".join(f"<th>{_text(name)}</th>" for name in header)
        marked = set(best)
        body = "".join(
            "<tr>"
            + "".join(f"<td{_best((i, j) in marked)}>{_text(cell)}</td>" for j, cell in enumerate(cells))
            + "</tr>"
            for i, cells in enumerate(rows)
        )
        parts.append(f'<table class="numbers"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>')
    return "".join([*parts, "</div>"])


def _best(marked: bool) -> str:
    return ' class="best"' if marked else ""


def _text(text: str) -> str:
    return html.escape(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")
