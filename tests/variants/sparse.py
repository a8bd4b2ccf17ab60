"""Linear models of sparse rows."""

from nystream import GaussianFilter, SparseLinear

VARIANTS = {
    "sparse-linear": {
        "logistic, pairs": SparseLinear("logistic", bits=6, pairs=True),
        "softmax, one rate": SparseLinear("softmax", bits=8, rates=(2.0,)),
        "softmax, folded": SparseLinear("softmax", bits=8, max_bytes=2**12),
    },
    "gaussian-filter": {
        "logistic": GaussianFilter("logistic", bits=8, prior=3.0),
        "softmax, pairs, folded": GaussianFilter("softmax", bits=6, pairs=True, max_bytes=2**10),
    },
}
