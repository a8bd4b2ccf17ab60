"""The pages: HTML without a template engine, and its files; nothing is loaded from elsewhere."""

from __future__ import annotations

import html
from functools import cache
from importlib import resources

from starlette.responses import Response

from nystream.serve.app import PAGE_HEADERS
from nystream.serve.refusals import Refusal
from nystream.serve.settings import checked_name

__all__ = ["asset", "page"]

_KINDS = {"page.js": "text/javascript", "page.css": "text/css"}
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="stylesheet" href="/assets/page.css"></head>
<body data-model="{model}">
<h1>{title}</h1>
<nav><a href="/">All models</a></nav>
<form id="login" hidden><label for="token">Token</label> <input id="token" type="password" autocomplete="off">
<button>Use it</button></form>
<main><pre id="out" aria-live="polite"></pre></main>
<script src="/assets/page.js"></script>
</body></html>
"""


def page(name: str | None) -> Response:
    """The page of all models, or of one."""
    if name is not None:
        checked_name(name)
    title = "nystream" if name is None else f"{name} - nystream"
    text = _PAGE.format(title=html.escape(title), model=html.escape(name or ""))
    return Response(text, 200, PAGE_HEADERS, "text/html")


def asset(file: str) -> Response:
    """A file of the pages."""
    if file not in _KINDS:
        raise Refusal(404, "there is nothing here; see /openapi.json")
    return Response(_read(file), 200, PAGE_HEADERS, _KINDS[file])


@cache
def _read(file: str) -> bytes:
    return (resources.files("nystream.serve") / "assets" / file).read_bytes()
