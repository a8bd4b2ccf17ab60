"""The frame of a self-contained HTML page: style sheet, head, tables."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence

from nystream.plot.inline import DARK, LIGHT

__all__ = ["cell", "page", "pairs", "section", "table"]

_STYLE = """
:root { color-scheme: light dark; %(light)s --soft: #666; --best: #e4f3ea; --line: #e3e3e3; --card: #fafafa; }
@media (prefers-color-scheme: dark) {
  :root { %(dark)s --soft: #9aa0a6; --best: #173a2b; --line: #2f3338; --card: #1d2024; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.2rem 1.6rem 3rem; max-width: 84rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { margin: 0; font-size: 1.7rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 2.2rem 0 .8rem; font-size: 1.15rem; }
.lead { margin: .3rem 0 0; color: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .32rem .9rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); vertical-align: bottom; white-space: normal; max-width: 10rem;
  line-height: 1.3; }
th:first-child, td:first-child { text-align: left; padding-left: .4rem; }
td.best { background: var(--best); font-weight: 600; }
td.words { text-align: left; white-space: normal; overflow-wrap: anywhere; }
th.words { text-align: left; }
td.lines { white-space: pre; overflow-wrap: normal;
  font: .86em/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
td code { font: .86em/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.key { display: inline-block; width: 1.5em; height: 0; margin-right: .55em; vertical-align: middle;
  border-top: 3px solid; }
.charts { display: grid; gap: 1.1rem; grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%%), 1fr)); }
figure { margin: 0; padding: .9rem 1rem .6rem; border: 1px solid var(--line); border-radius: 6px;
  background: var(--card); }
figcaption { font-weight: 600; margin-bottom: .3rem; }
figcaption small { display: block; font-weight: 400; color: var(--soft); }
figure svg { display: block; width: 100%%; height: auto; max-width: 46rem; }
figure svg text { font-family: inherit !important; }
details { margin: .5rem 0; }
summary { cursor: pointer; padding: .2rem 0; }
footer { margin-top: 2.6rem; color: var(--soft); font-size: .87rem; }
@media print { body { max-width: none; padding: 0; } figure { break-inside: avoid; } }
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1><p class="lead">{lead}</p></header>
{body}
<footer>{footer}</footer>
</body>
</html>
"""


def page(title: str, lead: str, sections: Iterable[str], footer: str) -> str:
    """Return a whole page. The sections are HTML, everything else is text. The browser loads and runs nothing."""
    shades = {name: _variables(colors) for name, colors in (("light", LIGHT), ("dark", DARK))}
    return _PAGE.format(
        title=html.escape(title),
        lead=html.escape(lead),
        body="\n".join(sections),
        footer=html.escape(footer),
        style=_STYLE % shades,
    )


def section(title: str, *parts: str) -> str:
    """Return a heading with its content, which is HTML."""
    return f"<section><h2>{html.escape(title)}</h2>\n" + "\n".join(parts) + "\n</section>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], words: bool = False) -> str:
    """Return a table. Header cells are text (over `words`, or over numbers), and `cell` makes the others."""
    opening = '<th class="words">' if words else "<th>"
    head = "".join(f"{opening}{html.escape(name)}</th>" for name in header)
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def cell(text: str, kind: str = "", key: str | None = None, code: bool = False) -> str:
    """Return a cell of text: with a class of the style sheet, after a line of colour `key`, or in the font of code."""
    content = html.escape(text)
    content = f"<code>{content}</code>" if code else content
    mark = f'<span class="key" style="{html.escape(key)}"></span>' if key is not None else ""
    opening = f'<td class="{kind}">' if kind else "<td>"
    return f"{opening}{mark}{content}</td>"


def pairs(values: Mapping[str, str]) -> str:
    """Return a table of names and values without a header. A value of several lines is shown in a fixed-width font."""
    kinds = {name: "words lines" if "\n" in value else "words" for name, value in values.items()}
    rows = "\n".join(f"<tr>{cell(name)}{cell(value, kinds[name])}</tr>" for name, value in values.items())
    return f'<div class="wide"><table><tbody>{rows}</tbody></table></div>'


def _variables(colors: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {color};" for name, color in colors.items())
