# Labels of regression on a running scale of their own: mean, deviation and range of those learnt so far.
from libc.math cimport sqrt

cdef enum: WEIGHT = 0, MEAN = 1, SQUARES = 2, LOW = 3, HIGH = 4, MOMENTS = 5

cdef extern from *:
    """
    #define AROUND 0.5   /* predictions may lie outside the range of the labels by this part of it */
    """
    double AROUND


cdef inline void count_label(double* m, double y, double weight) noexcept nogil:
    """One more label; m is (weight, mean, sum of squares around it, least, largest)."""
    cdef double gap = y - m[MEAN]
    if m[WEIGHT] == 0 or y < m[LOW]:
        m[LOW] = y
    if m[WEIGHT] == 0 or y > m[HIGH]:
        m[HIGH] = y
    m[WEIGHT] += weight
    m[MEAN] += gap*weight/m[WEIGHT]
    m[SQUARES] += weight*gap*(y - m[MEAN])


cdef inline double spread(const double* m) noexcept nogil:
    """Their standard deviation; 1 where they do not differ."""
    return sqrt(m[SQUARES]/m[WEIGHT]) if m[SQUARES] > 0 else 1.0


cdef inline double within_range(const double* m, double f) noexcept nogil:
    """A standardised prediction held near the labels so far; 0 before the first."""
    cdef double more = AROUND*(m[HIGH] - m[LOW]), sd = spread(m)
    cdef double low = (m[LOW] - more - m[MEAN])/sd, high = (m[HIGH] + more - m[MEAN])/sd
    return low if f < low else (high if f > high else f)
