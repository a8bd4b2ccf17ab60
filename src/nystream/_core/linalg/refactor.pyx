# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A = L D L' from scratch, into the tiles that the LDL pass works on; and the Gram matrix that fades."""
from libc.math cimport pow, sqrt
from libc.stdlib cimport free, malloc
from scipy.linalg.cython_blas cimport dgemm, dgemv, dsyrk, dtrsm
from scipy.linalg.cython_lapack cimport dpotrf


def factor_columns(double[:, ::1] A, Py_ssize_t begin, Py_ssize_t end):
    """Columns `begin` to `end` of the Cholesky factor of A, in place; those before are there already.

    Of A (dim, dim) the lower triangle is read and written. Called for all columns in turn, it becomes C with A = C C'.
    Returns 0, or the number (from 1) of the column at which A is found not to be positive definite.
    """
    cdef int dim = <int> A.shape[0], width = <int> (end - begin), rest = <int> (dim - end), failed = 0
    cdef double one = 1.0, less = -1.0
    cdef char left = b"L", upper = b"U", plain = b"N", turned = b"T"
    if A.shape[1] != dim or not 0 <= begin < end <= dim:
        raise ValueError("the columns are not those of a square matrix")
    with nogil:  # a row-major lower triangle is a column-major upper one
        dpotrf(&upper, &width, &A[begin, begin], &dim, &failed)
        if failed == 0 and rest > 0:
            dtrsm(&left, &upper, &turned, &plain, &width, &rest, &one, &A[begin, begin], &dim, &A[end, begin], &dim)
            dsyrk(&upper, &turned, &rest, &width, &less, &A[end, begin], &dim, &one, &A[end, end], &dim)
    return failed + begin if failed > 0 else 0


def pivot_columns(double[:, ::1] A, int[::1] order, Py_ssize_t begin, Py_ssize_t end, double least):
    """Columns `begin` to `end` of the Cholesky factor with pivoting: the column with the most left comes next.

    Of A (dim, dim) the upper triangle is read and written, in place; `order` says which column came where. Returns the
    columns that were found: `end`, or the first number of them at which nothing above `least` is left.
    """
    cdef int dim = <int> A.shape[0], width, rest, one = 1, before
    cdef Py_ssize_t i, j, best
    cdef double most, scale, plus = 1.0, less = -1.0
    cdef char lower = b"L", plain = b"N"
    if A.shape[1] != dim or order.shape[0] != dim or not 0 <= begin < end <= dim:
        raise ValueError("the columns are not those of a square matrix")
    cdef double* taken = <double*> malloc(dim*sizeof(double))   # from the diagonal, by the columns of this call
    if taken == NULL:
        raise MemoryError
    with nogil:
        for i in range(begin, dim):
            taken[i] = 0.0
        j = begin
        while j < end:
            best, most = j, -1.0
            for i in range(j, dim):
                if j > begin:
                    taken[i] += A[j - 1, i]*A[j - 1, i]
                if A[i, i] - taken[i] > most:
                    best, most = i, A[i, i] - taken[i]
            if not most > least:
                break
            if best != j:
                exchange(A, dim, j, best)
                taken[best] = taken[j]
                order[j], order[best] = order[best], order[j]
            A[j, j] = sqrt(most)
            rest, before = <int> (dim - j - 1), <int> (j - begin)
            if rest > 0:
                if before > 0:
                    dgemv(&plain, &rest, &before, &less, &A[begin, j + 1], &dim, &A[begin, j], &dim, &plus,
                          &A[j, j + 1], &one)
                scale = 1/A[j, j]
                for i in range(j + 1, dim):
                    A[j, i] *= scale
            j += 1
        if j == end and end < dim:
            rest, width = <int> (dim - end), <int> (end - begin)
            dsyrk(&lower, &plain, &rest, &width, &less, &A[begin, end], &dim, &plus, &A[end, end], &dim)
    free(taken)
    return j


cdef void exchange(double[:, ::1] A, Py_ssize_t dim, Py_ssize_t j, Py_ssize_t p) noexcept nogil:
    """Rows and columns j < p of the upper triangle, and of the rows above that are part of the factor already."""
    cdef Py_ssize_t i
    for i in range(j):
        A[i, j], A[i, p] = A[i, p], A[i, j]
    for i in range(j + 1, p):
        A[j, i], A[i, p] = A[i, p], A[j, i]
    for i in range(p + 1, dim):
        A[j, i], A[p, i] = A[p, i], A[j, i]
    A[j, j], A[p, p] = A[p, p], A[j, j]


def pack_columns(const double[:, ::1] C, Py_ssize_t begin, Py_ssize_t end, double[:, :, ::1] tiles, double[::1] dinv):
    """Columns `begin` to `end`, multiples of 8 or the last, of the factor C: C_ij / C_jj below the diagonal into the
    8 x 8 tiles of `LDL`, each column by column, the rest of which is 0 already, and 1/C_jj^2.
    """
    cdef Py_ssize_t dim = C.shape[0], blocks = (dim + 7)//8, i, j, k, tile, last
    cdef double scale[8]
    if (C.shape[1] != dim or not 0 <= begin < end <= dim or begin % 8 or (end % 8 and end != dim)
            or tiles.shape[0] != blocks*(blocks + 1)//2 or tiles.shape[1] != 8 or tiles.shape[2] != 8
            or dinv.shape[0] != 8*blocks):
        raise ValueError("the arrays do not fit together")
    with nogil:
        for k in range(begin//8, (end + 7)//8):
            last = min(8*k + 8, dim)
            for j in range(8*k, last):
                scale[j - 8*k] = 1/C[j, j]
                dinv[j] = 1/(C[j, j]*C[j, j])
            tile = k*blocks - k*(k - 1)//2 - k   # of row block i//8 in this column of tiles: + i//8
            for i in range(8*k + 1, dim):
                for j in range(8*k, min(last, i)):
                    tiles[tile + i//8, j - 8*k, i % 8] = C[i, j]*scale[j - 8*k]


def right_side(const double[:, ::1] C, double[:, ::1] b, double[:, ::1] q):
    """q = D^-1 L^-1 b for the factor C (dim, dim), its lower triangle, and b (dim, K), which is used up."""
    cdef int dim = <int> C.shape[0], K = <int> b.shape[1]
    cdef Py_ssize_t i, j
    cdef double one = 1.0
    cdef char right = b"R", upper = b"U", plain = b"N"
    if dim < 1 or K < 1 or C.shape[1] != dim or b.shape[0] != dim or q.shape[0] < dim or q.shape[1] < K:
        raise ValueError("the arrays do not fit together")
    with nogil:
        dtrsm(&right, &upper, &plain, &plain, &K, &dim, &one, <double*> &C[0, 0], &dim, &b[0, 0], &K)
        for i in range(dim):
            for j in range(K):
                q[i, j] = b[i, j]/C[i, i]


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


def add_gram(const double[:, ::1] Z not None, double[:, ::1] G not None):
    """G (dim, dim) <- G + Z'Z for Z (n, dim), its lower triangle alone."""
    cdef int n = <int> Z.shape[0], dim = <int> Z.shape[1]
    cdef double one = 1.0
    cdef char upper = b"U", plain = b"N"
    if dim < 1 or G.shape[0] != dim or G.shape[1] != dim:
        raise ValueError("the arrays do not fit together")
    if n == 0:
        return
    with nogil:   # a row-major lower triangle is a column-major upper one, and Z' is Z as it is stored
        dsyrk(&upper, &plain, &dim, &n, &one, <double*> &Z[0, 0], &dim, &one, &G[0, 0], &dim)
