"""The pages: HTML files whose one gap is the name of a model, and the style and scripts they load; all from here."""

from __future__ import annotations

import html
from functools import cache
from importlib import resources

from starlette.responses import Response

from nystream.serve.app import PAGE_HEADERS
from nystream.serve.refusals import Refusal
from nystream.serve.settings import checked_name

__all__ = ["ASSETS", "asset", "page"]

ASSETS = {
    "page.css": "text/css",
    "icon.svg": "image/svg+xml",
    "api.js": "text/javascript",
    "actions.js": "text/javascript",
    "chart.js": "text/javascript",
    "columns.js": "text/javascript",
    "forecast.js": "text/javascript",
    "last.js": "text/javascript",
    "models.js": "text/javascript",
    "shown.js": "text/javascript",
    "timeline.js": "text/javascript",
    "try.js": "text/javascript",
    "view.js": "text/javascript",
}
"""The files that pages load, with their types."""


def page(name: str | None) -> Response:
    """Return the page of all models, or of one."""
    if name is None:
        text = _read("models.html").decode()
    else:
        text = _read("view.html").decode().replace("{name}", html.escape(checked_name(name)))
    return Response(text, 200, PAGE_HEADERS, "text/html")


def asset(file: str) -> Response:
    """Return a file of the pages."""
    if file not in ASSETS:
        raise Refusal(404, "there is nothing here; see /openapi.json")
    return Response(_read(file), 200, PAGE_HEADERS, ASSETS[file])


@cache
def _read(file: str) -> bytes:
    return (resources.files("nystream.serve") / "assets" / file).read_bytes()
