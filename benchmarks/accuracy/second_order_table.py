"""Second-order learners of bounded cost on two real streams: average loss, rows per second, size.

    python benchmarks/accuracy/second_order_table.py [--rows N] [--seed 0]

cod-rna (59,535 rows, 8 columns, labels -1/+1) and casp (45,730 rows, 9 columns; the target scaled to [-1, 1] as
well), shuffled with the seed, every column scaled to [-1, 1] over the file, Gaussian kernel with sigma = 1, lam = 1:
the setting of the experiments with PKAWV. Each row is predicted before its label is given; the loss is (p - y)^2, and
for cod-rna the share of wrong signs is beside it. PKAWV on Taylor features of degree M; NystromPKRR with KORS (mu =
lam, beta = 1) and with more atoms (mu = lam/10); ProsNKons, restarting and warm; FOGD with 1,000 features and eta =
1/sqrt(n), for squared loss without the half. Files are looked for in NYSTREAM_DATA (default: ../shared/data beside
the repository).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from nystream.datasets import find, locate
from nystream.features import Taylor
from nystream.kernels import Gaussian
from nystream.learners import FOGD, PKAWV, Learner, NystromPKAWV, NystromPKRR, ProsNKons
from nystream.reproduce.pkawv_streams import prepared
from nystream.reproduce.protocol import shuffled

DATA = Path(os.environ.get("NYSTREAM_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
PARTS = {"cod-rna": "train", "casp": "all"}


def learners(n: int, seed: int) -> dict[str, Learner]:
    kernel = Gaussian(1.0)
    table: dict[str, Learner] = {f"PKAWV Taylor M = {M}": PKAWV(Taylor(kernel, degree=M)) for M in (2, 3, 4)}
    table["NystromPKRR"] = NystromPKRR(kernel, seed=seed)
    table["NystromPKRR mu = 0.1"] = NystromPKRR(kernel, mu=0.1, seed=seed)
    table["NystromPKAWV mu = 0.1"] = NystromPKAWV(kernel, mu=0.1, seed=seed)
    table["ProsNKons"] = ProsNKons(kernel, seed=seed)
    table["ProsNKons warm"] = ProsNKons(kernel, warm=True, seed=seed)
    table["FOGD 1000"] = FOGD(kernel, dim=1000, loss="squared", eta=n**-0.5, seed=seed)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="at most so many rows of each stream")
    parser.add_argument("--seed", type=int, default=0, help="of the shuffle and of the learners")
    options = parser.parse_args()
    files = [file for name, part in PARTS.items() for file in find(name).of_part(part)]
    missing = [file.path for file in files if locate(file, DATA) is None]
    if missing:
        print(f"{', '.join(missing)} not in {DATA}; set NYSTREAM_DATA", file=sys.stderr)
        return 2
    print(f"{'stream':>8} {'learner':>23} {'rows':>7} {'loss':>7} {'wrong':>7} {'rows/s':>10} {'size':>5}")
    for name, part in PARTS.items():
        X, y = shuffled(*prepared(name, DATA, part), options.seed, options.rows)
        for title, learner in learners(len(y), options.seed).items():
            start = time.thread_time()
            p = learner.run(X, y)
            rate = len(y) / (time.thread_time() - start)
            wrong = f"{np.mean(np.sign(p) != y):.4f}" if name == "cod-rna" else ""
            loss = np.mean((p - y) ** 2)
            line = f"{name:>8} {title:>23} {len(y):>7,} {loss:>7.4f} {wrong:>7} {rate:>10,.0f} {learner.size:>5}"
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
