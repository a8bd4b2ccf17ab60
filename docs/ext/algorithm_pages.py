"""One page per algorithm: the hand-written text of algorithms/NAME.md in a frame made from the registry.

Also the tables of "Which learner?" and of the list of algorithms, from the registry and docs/learners.json.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from api_pages import with_notes
from numpydoc.docscrape import NumpyDocString
from page_names import learner_pages
from sphinx.errors import ExtensionError

import nystream
from nystream.registry import FAMILIES, LEARNERS, Record

mpl.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1]
TESTS = DOCS.parent / "tests"
PACKAGE = Path(nystream.__file__).parent
MEASURED = json.loads((DOCS / "learners.json").read_text())
LABELS = {
    "merges": "merges exactly",
    "unlearns": "unlearns exactly",
    "weights": "weights of rows",
    "several targets": "several targets at once",
    "missing values": "missing values",
    "intervals": "intervals",
    "std": "standard deviations",
}


# -- the page of one algorithm --------------------------------------------------------------------------------------
def page(record: Record, text: str) -> str:
    """The hand-written text in its frame."""
    doc = NumpyDocString(with_notes(inspect.getdoc(record.cls) or ""))
    able = [LABELS[trait] for trait, has in record.traits.items() if has]
    facts = [
        ("on the command line", f"`{record.name}`"),
        ("tasks", ", ".join(record.tasks)),
        ("time for a row", letters(record.cost)),
        ("memory", letters(record.memory) + (", grows with the stream" if record.grows else "")),
        ("guarantee", record.guarantee),
        *([("also", ", ".join(able))] if able else []),
        ("take it for", record.advice),
        ("published", record.paper),
    ]
    head = [
        f"# {record.cls.__name__}",
        "",
        prose(record.summary),
        "",
        "```{list-table}",
        ":widths: 20 80",
        ":class: facts",
        "",
    ]
    head += [f"* - {title}\n  - {cell(value)}" for title, value in facts]
    head += ["```"]
    return (
        "\n".join([*head, "", text.strip(), "", *figure(record), *parameters(record, doc), *sources(record, doc)])
        + "\n"
    )


def figure(record: Record) -> list[str]:
    stream = standard(record.name)
    what = MEASURED["streams"][stream]["what"]
    return [
        "## On a standard stream",
        "",
        f"![Error of {record.class_name} and Auto along the stream](/_generated/learners/{record.name}.svg){{.figure}}",
        "",
        f"The stream is *{stream}*: {what}. The learner has the settings of `nystream race`; it is not tuned. "
        "Every row is predicted before it is learnt. Figures: `python docs/make_learners.py`.",
        "",
    ]


def parameters(record: Record, doc: Any) -> list[str]:
    lines = ["## Parameters", ""]
    given = {name: repr(value) for name, value in record.defaults.items() if value is not inspect.Parameter.empty}
    for item in doc["Parameters"]:
        names = [name.strip() for name in item.name.split(",")]
        alone = len(names) == 1 and names[0] in given
        default = f", default `{given[names[0]]}`" if alone else ""
        written = names if alone else [f"{name}={given[name]}" if name in given else name for name in names]
        kind = re.sub(r",? default .*", "", item.type)
        title = ", ".join(f"`{name}`" for name in written) + (f" : {prose(kind)}" if kind else "") + default
        body = prose(" ".join(line.strip() for line in item.desc))
        lines += [title, f": {body}", ""] if body else [f"**{title}**", ""]
    if not doc["Parameters"]:
        lines += [", ".join(f"`{name}={value}`" for name, value in given.items()) + ".", ""]
    return lines


def sources(record: Record, doc: Any) -> list[str]:
    text = inspect.getdoc(record.cls) or ""
    deviations = re.search(r"^Deviations from the papers?: (.*?)(?:\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    module = inspect.getmodule(record.cls).__name__
    lines = ["## Paper, deviations, sources", ""]
    if doc["References"]:
        lines += [prose(" ".join(line.strip() for line in doc["References"])), ""]
    if deviations:
        lines += [f"Deviations: {prose(' '.join(deviations.group(1).split()))}", ""]
    lines += [f"- Reference: {{py:class}}`nystream.{record.cls.__name__}`"]
    lines += [f"- Source: [{module}](/_modules/{module.replace('.', '/')}.html)".replace("](/", "](site:/")]
    tests = oracle_files(module)
    if tests:
        links = ", ".join(f"{{download}}`{path.parent.name}/{path.name} <{relative(path)}>`" for path in tests)
        lines += [f"- A slow reference implementation of the paper's equations, and the tests that use it: {links}"]
    if record.experiments:
        links = ", ".join(f"[{name}](/reproduction.md#{name})" for name in record.experiments)
        lines += [f"- Reproductions of the paper's experiments: {links}"]
    return lines


def oracle_files(module: str) -> list[Path]:
    """The tests of a module, and the oracles that they import."""
    name = module.rpartition(".")[2]
    tests = sorted(path for path in TESTS.rglob(f"test_{name}.py") if path.parent.name in module.split("."))
    text = "".join(path.read_text() for path in tests)
    oracles = {find_oracle(*names) for names in re.findall(r"from (oracles(?:\.\w+)?) import (\w+)", text)}
    return [*sorted(oracles), *tests]


def find_oracle(module: str, name: str) -> Path:
    """The file behind `from module import name`: the name may be a module itself."""
    path = TESTS / module.replace(".", "/")
    files = path / f"{name}.py", path.with_suffix(".py"), path / "__init__.py"
    return next(file for file in files if file.exists())


def relative(path: Path) -> str:
    return "../../" + path.relative_to(DOCS.parent).as_posix()


# -- text of docstrings in Markdown -----------------------------------------------------------------------------------
def prose(text: str) -> str:
    """Text of a docstring, in which only backticks are markup."""
    parts = re.split(r"(``.*?``|`[^`]*`)", text)
    return "".join(part if i % 2 else re.sub(r"([\\*_<>\[\]|$#])", r"\\\1", part) for i, part in enumerate(parts))


def cell(text: str) -> str:
    return text if text.startswith(("`", "$")) else prose(text)


def letters(formula: str) -> str:
    """A cost as mathematics, if it is made of single letters: "m^2 + m d"."""
    single = all(len(word) == 1 or "^" in word for word in formula.split())
    written = formula.replace("l", r"\ell")
    return f"${written}$" if single else formula


# -- figures -------------------------------------------------------------------------------------------------------
def standard(name: str) -> str:
    """Return the stream of the figure: the one of the learner's task that has drift."""
    return "friedman" if "friedman" in MEASURED["learners"][name] else "turning"


def draw(app: Any) -> None:
    folder = Path(app.srcdir) / "_generated" / "learners"
    folder.mkdir(parents=True, exist_ok=True)
    for name in LEARNERS:
        if name not in MEASURED["learners"]:
            raise ExtensionError(
                f"docs/learners.json has no figures of {name}: run python docs/make_learners.py {name}"
            )
        draw_one(name, folder / f"{name}.svg")
    (folder / "tradeoff.svg").unlink(missing_ok=True)
    draw_all(folder / "tradeoff.svg")


def draw_one(name: str, path: Path) -> None:
    stream, every = standard(name), MEASURED["every"]
    other = "baseline" if name == "auto" else "auto"
    figure, axes = plt.subplots(figsize=(7.2, 2.8))
    for learner, colour, width in ((other, "#8a8f98", 1.4), (name, "#0b7285", 2.0)):
        curve = MEASURED["learners"][learner][stream]["curve"]
        axes.plot(np.arange(1, len(curve) + 1) * every, curve, color=colour, lw=width, label=learner)
    if stream == "friedman":
        axes.axvline(MEASURED["streams"][stream]["rows"] // 2, color="#c92a2a", lw=0.9, ls="--")
        axes.axhline(1.0, color="#adb5bd", lw=0.8, ls=":")
        axes.text(
            MEASURED["streams"][stream]["rows"] // 2, axes.get_ylim()[1], " the function changes", va="top", size=8
        )
    axes.set_xlabel("rows")
    axes.set_ylabel("RMSE / std of labels" if stream == "friedman" else "error rate")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right" if stream == "turning" else "lower left")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def draw_all(path: Path) -> None:
    """Error against rows per second on every stream; names stand at learners that no other one beats in both."""
    figure, row = plt.subplots(1, 3, figsize=(11, 4.2))
    for axes, stream in zip(row, MEASURED["streams"], strict=True):
        found = {name: each[stream] for name, each in MEASURED["learners"].items() if stream in each}
        places = {name: (each["rows_per_second"], each["error"]) for name, each in found.items()}
        for name, (x, y) in places.items():
            best = not any(speed >= x and error <= y and (speed, error) != (x, y) for speed, error in places.values())
            axes.plot(x, y, "o", ms=6 if best else 4, color="#0b7285" if best else "#adb5bd", zorder=2 + best)
            if best:
                style = {"va": "center", "rotation": -45, "rotation_mode": "anchor", "size": 7.5}
                axes.annotate(name, (x, y), (3, -3), textcoords="offset points", **style)
        axes.set_xscale("log")
        (_, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        axes.set_xlim(right=4 * right)  # room for names
        axes.set_ylim(bottom=low - 0.25 * (high - low))
        axes.set_title(stream, size=10)
        axes.set_xlabel("rows per second")
        axes.spines[["top", "right"]].set_visible(False)
    row[0].set_ylabel("error")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


# -- tables --------------------------------------------------------------------------------------------------------
def mark(has: bool) -> str:
    return "yes" if has else ""


def learners_table() -> str:
    streams = list(MEASURED["streams"])
    columns = [
        "learner",
        "tasks",
        "time for a row",
        "memory",
        "guarantee",
        "merges",
        "unlearns",
        "weights",
        "several targets",
    ]
    columns += [f"{stream}: {what}" for stream in streams for what in ("error", "rows/s")]
    best = {
        stream: min(found[stream]["error"] for found in MEASURED["learners"].values() if stream in found)
        for stream in streams
    }
    lines = ["| " + " | ".join(columns) + " |", "|---" * 9 + "|---:" * (2 * len(streams)) + "|"]
    for record in LEARNERS.values():
        found, has = MEASURED["learners"][record.name], record.traits
        cells = [f"[{record.name}](/algorithms/{record.name}.md)", " ".join(task[0].upper() for task in record.tasks)]
        cells += [cell(letters(record.cost)), cell(letters(record.memory)), record.guarantee]
        cells += [mark(has[trait]) for trait in ("merges", "unlearns", "weights", "several targets")]
        for stream in streams:
            if stream in found:
                error, speed = f"{found[stream]['error']:.3f}", float(f"{found[stream]['rows_per_second']:.2g}")
                strong = found[stream]["error"] <= best[stream]
                cells += [f"**{error}**" if strong else error, f"{speed:,.0f}"]
            else:
                cells += ["", ""]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def families_table() -> str:
    families: dict[str, list[Record]] = {}
    for record in sorted(LEARNERS.values(), key=lambda record: FAMILIES.index(record.family)):
        families.setdefault(record.family, []).append(record)
    lines = []
    for family, records in families.items():
        lines += [f"## {family}", "", "| algorithm | what it is | take it for | published |", "|---|---|---|---|"]
        for record in records:
            title = f"[{record.class_name}](/algorithms/{record.name}.md)"
            lines.append(f"| {title} | {prose(record.summary.rstrip('.'))} | {record.advice} | {prose(record.paper)} |")
        lines += ["", "```{toctree}", ":hidden:", *(record.name for record in records), "```", ""]
    return "\n".join(lines)


def streams_list() -> str:
    return "\n".join(
        f"- *{name}* ({of['task']}, {of['rows']:,} rows): {of['what']}." for name, of in MEASURED["streams"].items()
    )


def versions() -> str:
    known = ", ".join(f"{name} {value}" for name, value in MEASURED["versions"].items())
    return f"{known}, {MEASURED['machine']}, one thread"


PLACES = {"learners": learners_table, "families": families_table, "streams": streams_list, "versions": versions}


def read(app: Any, docname: str, source: list[str]) -> None:
    folder, _, name = docname.rpartition("/")
    if folder == "algorithms" or docname == "which_learner":
        for path in (DOCS / "learners.json", PACKAGE / "registry.py"):
            app.env.note_dependency(str(path))
    if folder == "algorithms" and name in LEARNERS:
        source[0] = page(LEARNERS[name], source[0])
    for place, made in PLACES.items():
        mark = f"<!-- {place} -->"
        if mark in source[0]:
            source[0] = source[0].replace(mark, made())


def resolve(app: Any, doctree: Any, docname: str) -> None:
    """Links to pages that the build makes, "site:/...", from where this page is."""
    from docutils import nodes

    up = "../" * docname.count("/")
    for link in doctree.findall(nodes.reference):
        address = link.get("refuri", "")
        if address.startswith("site:/"):
            link["refuri"] = up + address.removeprefix("site:/")


def complete(app: Any) -> None:
    """Stop the build if a learner has no page, or if a page has no learner."""
    pages = learner_pages(Path(app.srcdir) / "algorithms")
    if pages != set(LEARNERS):
        raise ExtensionError(f"the pages of algorithms and the registry differ: {sorted(pages ^ set(LEARNERS))}")


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", complete)
    app.connect("builder-inited", draw)
    app.connect("source-read", read)
    app.connect("doctree-resolved", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
