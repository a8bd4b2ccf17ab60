"""Convert mathematics to MathML when the site is built. Browsers draw it without loading a script."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError


def rendered(node: nodes.Element, *, block: bool) -> str:
    text = node.astext()
    try:
        return tex2mathml(text, as_block=block)
    except MathError as error:
        raise ExtensionError(f"{node.source}: cannot convert this formula: {error}\n{text}") from error


def visit_math(self: Any, node: nodes.Element) -> None:
    self.body.append(rendered(node, block=False))
    raise nodes.SkipNode


def visit_math_block(self: Any, node: nodes.Element) -> None:
    self.body.append(f'<div class="equation">{rendered(node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
