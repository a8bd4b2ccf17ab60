"""Write the table of algorithms in README.md from the catalogue: `python docs/make_tables.py`."""

import inspect
from pathlib import Path

import nystream
from nystream.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parents[1]
START, END = "<!-- algorithms -->", "<!-- end of algorithms -->"


def table() -> str:
    """One row a learner: the name for the command line, the class with a link to its file, where it was published."""
    package = Path(nystream.__file__).parent
    lines = ["| name | class | what it is | published |", "|---|---|---|---|"]
    for entry in CATALOGUE.values():
        file = "src/nystream" / Path(inspect.getfile(entry.cls)).relative_to(package)
        summary = entry.summary.rstrip(".").replace("|", "\\|")
        lines.append(f"| `{entry.name}` | [{entry.cls.__name__}]({file.as_posix()}) | {summary} | {entry.paper} |")
    return "\n".join(lines)


def rewritten(text: str) -> str:
    """The page with the table between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    page = ROOT / "README.md"
    page.write_text(rewritten(page.read_text()))
