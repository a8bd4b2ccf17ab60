"""Every speed benchmark in one run, one thread: `make bench`, or `python benchmarks/run.py [NAME ...]`.

Each script of benchmarks/speed prints ratios measured side by side; none of them is a test.
"""

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "speed"


def main(names: list[str]) -> int:
    """Run the scripts one after the other; the number that failed."""
    scripts = sorted(FOLDER.glob("[!_]*.py"))
    unknown = set(names) - {script.stem for script in scripts}
    if unknown:
        print(
            f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(s.stem for s in scripts)}",
            file=sys.stderr,
        )
        return 2
    failed = 0
    for script in scripts:
        if not names or script.stem in names:
            print(f"\n== {script.stem}", flush=True)
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
            failed += subprocess.run([sys.executable, str(script)], env=environment, check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
