"""Makes docs/images/race.png, the picture of the README: the first chart of `nystream race --demo` (`make demo`).

Run it from the root of the repository when predictions of a learner in that race change: python docs/make_race.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = ["nystream", "race", "--demo", "--out"]
"""What makes the picture, with the folder to write to."""
CHART = "friedman-drift.png"
PICTURE = Path(__file__).parent / "images" / "race.png"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(sys.executable).with_name(COMMAND[0])
        subprocess.run([program, *COMMAND[1:], folder], check=True)
        shutil.copyfile(Path(folder) / CHART, PICTURE)
    print(PICTURE)


if __name__ == "__main__":
    main()
