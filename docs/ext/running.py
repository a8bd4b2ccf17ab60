"""Run code when a page is built: `{run}` for Python, `{shell}` for commands. The page shows the output.

The blocks of a page share one namespace and one folder. An error, or a command that fails, stops the build. The page
shows the figures that are open after a block, and the variable `figure` if the block sets it. With `:live:`, the lines
of a figure are drawn over some seconds, again and again, like a stream. Readers who prefer no motion see them whole.

A block may set `stand_ins`, a dict. Its keys are texts that the page shows, its values are the texts that run instead,
for example a free port in place of the usual one. In the output, the values are replaced by the keys.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

LIMIT = 120
"""Seconds that a block of commands may take."""


class Page:
    """What the blocks of one page share."""

    def __init__(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "page"}
        self.figures = 0

    def real(self, code: str) -> str:
        """What runs for code that the page shows."""
        for shown, stand_in in self.names.get("stand_ins", {}).items():
            code = code.replace(shown, stand_in)
        return code

    def shown(self, text: str) -> str:
        """What the page shows for text that was printed."""
        for shown, stand_in in self.names.get("stand_ins", {}).items():
            text = text.replace(stand_in, shown)
        return text


class Block(SphinxDirective):
    has_content = True
    option_spec = {  # noqa: RUF012
        "hide": directives.flag,
        "quiet": directives.flag,
        "live": directives.flag,
        "alt": directives.unchanged,
    }

    @property
    def page(self) -> Page:
        known = self.env.temp_data
        if "page" not in known:
            name = self.env.docname.replace("/", "-")
            known["page"] = Page(Path(self.env.app.outdir).parent / "pages" / name)
        return known["page"]

    def output(self, text: str) -> list[nodes.Node]:
        if not text.strip() or "quiet" in self.options:
            return []
        return [nodes.literal_block(text.rstrip(), text.rstrip(), language="none", classes=["output"])]


class Run(Block):
    """Python."""

    def run(self) -> list[nodes.Node]:
        code, page = "\n".join(self.content), self.page
        page.names.pop("figure", None)
        printed = io.StringIO()
        before = os.getcwd()
        os.chdir(page.folder)
        try:
            with contextlib.redirect_stdout(printed), warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                exec(compile(page.real(code), f"{self.env.docname}, line {self.lineno}", "exec"), page.names)
        except Exception:
            raise self.error("".join(traceback.format_exc().splitlines(keepends=True)[-12:])) from None
        finally:
            os.chdir(before)
        shown: list[nodes.Node] = []
        if "hide" not in self.options:
            shown.append(nodes.literal_block(code, code, language="python"))
        return shown + self.output(page.shown(printed.getvalue())) + self.figures()

    def figures(self) -> list[nodes.Node]:
        folder = Path(self.env.srcdir) / "_generated" / "pages"
        folder.mkdir(parents=True, exist_ok=True)
        found: list[nodes.Node] = []
        drawn = [plt.figure(number) for number in plt.get_fignums()]
        own = self.page.names.get("figure")  # charts of nystream.plot are not among those of pyplot
        for figure in drawn + ([own] if isinstance(own, Figure) and own not in drawn else []):
            self.page.figures += 1
            name = f"{self.env.docname.replace('/', '-')}-{self.page.figures}.svg"
            lines = [line for axes in figure.axes for line in axes.lines] if "live" in self.options else []
            for k, line in enumerate(lines):
                line.set_gid(f"live-{k}")
            figure.savefig(folder / name, bbox_inches="tight", metadata={"Date": None})
            if lines:
                animate(folder / name)
            image = nodes.image(uri=f"/_generated/pages/{name}", alt=self.options.get("alt", ""), classes=["figure"])
            found.append(image)
        plt.close("all")
        if found and not self.options.get("alt"):
            raise self.error("a figure needs words for those who cannot see it: give :alt:")
        return found


class Shell(Block):
    """Commands, each after "$ " at the start of a line; one may go on below. Processes left behind are ended."""

    def run(self) -> list[nodes.Node]:
        commands = re.split(r"(?m)^\$ ", self.page.real("\n".join(self.content)))[1:]
        script = ["set -e"]
        for command in map(str.rstrip, commands):
            script += [f"printf '%s\\n' {quoted('$ ' + command)}", command] if "hide" not in self.options else [command]
        environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "96",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "OPENBLAS_NUM_THREADS": "1",
            "MPLBACKEND": "Agg",
        }
        process = subprocess.Popen(
            ["bash", "-c", "\n".join(script)],
            cwd=self.page.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=(written := open(self.page.folder / ".shown", "w+")),  # noqa: SIM115  read after the group has ended
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(LIMIT)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            written.seek(0)
            text = self.page.shown(written.read())
            written.close()
        if code:
            raise self.error(f"a command failed with code {code}:\n{text[-2000:]}")
        if "hide" in self.options:
            return []
        return [nodes.literal_block(text.rstrip(), text.rstrip(), language="console", classes=["shell"])]


def animate(path: Path) -> None:
    """Let the lines of a figure appear from left to right."""
    text = path.read_text()
    width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text).groups()
    text = re.sub(r'<g id="live-\d+"', r'\g<0> clip-path="url(#seen)"', text)
    seen = (
        f'<clipPath id="seen"><rect class="seen" width="{width}" height="{height}"/></clipPath><style>'
        "@media (prefers-reduced-motion: no-preference) { .seen { animation: seen 10s linear infinite } }"
        "@keyframes seen { from { transform: scaleX(0.08) } 80%, to { transform: scaleX(1) } }</style>"
    )
    path.write_text(text.replace("</svg>", seen + "</svg>"))


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("run", Run)
    app.add_directive("shell", Shell)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
