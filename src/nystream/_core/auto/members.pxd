# The mixture of stackers and experts, for compiled rounds.
cimport numpy as cnp


cpdef tuple mix_targets(cnp.ndarray G, cnp.ndarray stacked, cnp.ndarray experts, cnp.ndarray members, Py_ssize_t last,
                        Py_ssize_t aside, cnp.ndarray steady, cnp.ndarray low, cnp.ndarray high, cnp.ndarray shift,
                        cnp.ndarray scale, double eta, double share, cnp.ndarray T=*, cnp.ndarray given=*,
                        cnp.ndarray recent=*, double rate=*, double reach=*, Py_ssize_t early=*)
