# Losses for compiled loops: a formula by its code, and a loss of K outputs, which may be one that only Python knows.
cdef class CompiledLoss:
    cdef readonly str name
    cdef readonly int code              # LOSS_... of scalar_losses.pxd
    cdef readonly double constant       # eps, delta, q or rho; 0 where the formula has none
    cdef readonly object margins        # (K, K) label margins and similarities, or None
    cdef readonly object similarity


cdef class OutputLoss:
    cdef readonly Py_ssize_t K          # outputs
    cdef readonly Py_ssize_t columns    # numbers in a label
    cdef readonly bint multiclass       # a label is a class number; else K numbers
    cdef readonly bint signs            # those numbers are -1 or +1
    cdef CompiledLoss form              # None: the loss is a Python function
    cdef int code, rule
    cdef double constant
    cdef const double* margins          # K x K, or NULL
    cdef const double* similarity
    cdef double* work                   # K numbers of scratch
    cdef object loss, _arrays

    cdef int check(self, const double* y, Py_ssize_t n) except -1
    cdef void mix(self, double* v) noexcept nogil
    cdef double value(self, double y, double p) except? -1e300 nogil
    cdef double slope(self, double y, double p) except? -1e300 nogil
    cdef int gradient(self, const double* y, const double* p, double* g) except -1 nogil
    cdef int curved(self, const double* y, const double* p, const double* g, const double* v,
                    double* Hv) except -1 nogil
    cdef int implicit(self, const double* y, const double* p, const double* scores, double s, double c,
                      double* alpha) except -1 nogil
