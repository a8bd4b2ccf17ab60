# Labels in standard units, for compiled rounds.
cimport numpy as cnp


cpdef tuple entered(cnp.ndarray Y, cnp.ndarray low, cnp.ndarray high, cnp.ndarray shift, cnp.ndarray scale,
                    double around)
