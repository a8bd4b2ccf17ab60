"""Write docs/reproduction.md from the results in docs/reproduction: `python docs/make_reproduction.py`."""

from pathlib import Path

from nystream.reproduce import EXPERIMENTS, Record
from nystream.reproduce.markdown import page

DOCS = Path(__file__).resolve().parent


def written() -> str:
    """The page, in the order of the experiments."""
    files = [DOCS / "reproduction" / f"{name}.json" for name in EXPERIMENTS]
    return page(Record.load(file) for file in files if file.exists())


if __name__ == "__main__":
    (DOCS / "reproduction.md").write_text(written())
