# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A = L D L' from scratch, into the tiles that the LDL pass works on; and the Gram matrix that fades."""
from libc.math cimport pow, sqrt
from libc.stdlib cimport free, malloc
from scipy.linalg.cython_blas cimport dgemm, dsyrk, dtrsm
from scipy.linalg.cython_lapack cimport dpotrf


def refactor(double[:, ::1] A, double[:, ::1] b, double[:, :, ::1] tiles, double[::1] dinv, double[:, ::1] q):
    """Factor A (dim, dim), of which the lower triangle is read, with the right-hand side b (dim, K).

    tiles, dinv = 1/D and q = D^-1 L^-1 b are the padded arrays of `LDL`. A and b are used up: they become the Cholesky
    factor C (its lower triangle) and C^-1 b. Returns 0, or the number (from 1) of the feature at which A is found not
    to be positive definite; tiles, dinv and q are then untouched.
    """
    cdef int dim = <int> A.shape[0], K = <int> b.shape[1], failed = 0
    cdef Py_ssize_t blocks = (dim + 7)//8, i, j
    cdef double one = 1.0
    cdef char right = b"R", upper = b"U", plain = b"N"
    if (dim < 1 or K < 1 or A.shape[1] != dim or b.shape[0] != dim or tiles.shape[0] != blocks*(blocks + 1)//2
            or tiles.shape[1] != 8 or tiles.shape[2] != 8 or dinv.shape[0] != 8*blocks or q.shape[0] != 8*blocks
            or q.shape[1] < K):
        raise ValueError("the arrays do not fit together")
    with nogil:
        dpotrf(&upper, &dim, &A[0, 0], &dim, &failed)   # a row-major lower triangle is a column-major upper one
        if failed == 0:
            dtrsm(&right, &upper, &plain, &plain, &K, &dim, &one, &A[0, 0], &dim, &b[0, 0], &K)
            pack(A, dim, blocks, tiles)
            for i in range(dim):
                dinv[i] = 1/(A[i, i]*A[i, i])
                for j in range(K):
                    q[i, j] = b[i, j]/A[i, i]
    return failed


cdef void pack(double[:, ::1] C, Py_ssize_t dim, Py_ssize_t blocks, double[:, :, ::1] tiles) noexcept nogil:
    """C_ij / C_jj below the diagonal, in 8 x 8 tiles, each column by column; the rest of the tiles is 0 already."""
    cdef Py_ssize_t i, j, start
    cdef double scale
    for j in range(dim):
        scale = 1/C[j, j]
        start = (j//8)*blocks - (j//8)*(j//8 - 1)//2 - j//8   # tile of row block i//8 in this column of tiles: + i//8
        for i in range(j + 1, dim):
            tiles[start + i//8, j % 8, i % 8] = C[i, j]*scale


def fade(const double[:, ::1] rows, double decay, double[:, ::1] gram, double[:, ::1] right):
    """n rows (z, y, w) of dim + K + 1 numbers, the last the latest, enter sums in which a row fades by `decay` a row.

    gram (dim, dim) <- decay^n gram + sum of decay^age w z z', its lower triangle alone; right (dim, K) likewise, z y'.
    """
    cdef int n = <int> rows.shape[0], dim = <int> gram.shape[0], K = <int> right.shape[1], width = dim + K
    cdef Py_ssize_t i, j
    cdef double one = 1.0, kept = pow(decay, n), scale
    cdef char upper = b"U", plain = b"N", turned = b"T"
    if n < 1 or dim < 1 or K < 1 or gram.shape[1] != dim or right.shape[0] != dim or rows.shape[1] != width + 1:
        raise ValueError("the arrays do not fit together")
    cdef double* S = <double*> malloc(n*width*sizeof(double))
    if S == NULL:
        raise MemoryError
    with nogil:
        for i in range(n):
            scale = sqrt(pow(decay, n - 1 - i)*rows[i, width])
            for j in range(width):
                S[i*width + j] = scale*rows[i, j]
        dsyrk(&upper, &plain, &dim, &n, &one, S, &width, &kept, &gram[0, 0], &dim)
        dgemm(&plain, &turned, &K, &dim, &n, &one, S + dim, &width, S, &width, &kept, &right[0, 0], &K)
    free(S)
