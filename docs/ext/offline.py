"""After the build: report an error if a page loads anything from another site, or has a broken link."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

from sphinx.errors import ExtensionError
from sphinx.util import logging

logger = logging.getLogger(__name__)

LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
"""Elements that load a file, with the attribute that has its address. For `link`, `rel` decides whether it loads."""
REMOTE = re.compile(r"^(https?:)?//")
BACK = re.compile(r'<a class="viewcode-back".*?</a>')
"""Links from source to reference. They use the name in the module, which may differ from the one in the reference."""
LOADED_LINKS = {"stylesheet", "preload", "icon", "shortcut icon", "modulepreload", "prefetch", "manifest"}


class Page(HTMLParser):
    """The files that a page loads, its links, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {key: value or "" for key, value in attrs}
        self.anchors |= {of[key] for key in ("id", "name") if key in of}
        if tag in LOADING and LOADING[tag] in of:
            self.loads.append(of[LOADING[tag]])
        if tag == "link" and of.get("rel", "").lower() in LOADED_LINKS:
            self.loads.append(of.get("href", ""))
        if tag == "a" and "href" in of:
            self.links.append(of["href"])


def check(app: Any, exception: Exception | None) -> None:
    if exception is not None or app.builder.name != "html":
        return
    folder = Path(app.outdir)
    for source in (folder / "_modules").rglob("*.html"):
        source.write_text(BACK.sub("", source.read_text(encoding="utf-8")), encoding="utf-8")
    own = [path for path in folder.rglob("*.html") if "_static" not in path.parts]  # the theme's templates are there
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in own}
    faults = [f"{path.relative_to(folder)} loads {url}" for path, page in pages.items() for url in remote(page)]
    faults += [fault for path in pages for fault in broken(path, pages, folder)]
    for sheet in folder.rglob("*.css"):
        urls = re.findall(r"url\(\s*['\"]?((?:https?:)?//[^)'\"]+)", sheet.read_text(encoding="utf-8"))
        faults += [f"{sheet.relative_to(folder)} loads {url}" for url in urls]
    if faults:
        raise ExtensionError("\n".join(["the built site has errors:", *faults[:40]]))
    links = sum(len(page.links) for page in pages.values())
    logger.info("checked %d pages, %d links: no page loads from another site, no link is broken", len(pages), links)


def remote(page: Page) -> list[str]:
    return [url for url in page.loads if REMOTE.match(url)]


def broken(path: Path, pages: dict[Path, Page], folder: Path) -> list[str]:
    found = []
    for link in {*pages[path].links, *(url for url in pages[path].loads if not url.startswith("data:"))}:
        address, anchor = urldefrag(link)
        if re.match(r"^[a-z][a-z0-9+.-]*:|^//", address):
            continue
        target = (path.parent / unquote(address).partition("?")[0]).resolve() if address else path
        if not target.exists():
            found.append(f"{path.relative_to(folder)}: {link} leads to no file")
        elif anchor and target in pages and unquote(anchor) not in pages[target].anchors:
            found.append(f"{path.relative_to(folder)}: {link} names an anchor that does not exist")
    return found


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", check, priority=900)  # after the theme has written its last files
    return {"parallel_read_safe": True, "parallel_write_safe": True}
