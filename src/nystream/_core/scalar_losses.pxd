# The losses of simd/scalar_losses.h and simd/multi_losses.h, for every compiled loop that asks a loss.
cdef extern from "scalar_losses.h" nogil:
    enum:
        LOSS_SQUARED
        LOSS_ABSOLUTE
        LOSS_EPSILON
        LOSS_HUBER
        LOSS_PINBALL
        LOSS_HINGE
        LOSS_SQUARED_HINGE
        LOSS_LOGISTIC
        LOSS_NOVELTY
        LOSS_MULTICLASS_HINGE
        LOSS_SOFTMAX
        LOSS_STRUCTURED_HINGE
    double loss_value(int kind, double a, double y, double p)
    double loss_grad(int kind, double a, double y, double p)
    double loss_second(int kind, double a, double y, double p)
    double loss_implicit(int kind, double a, double y, double p, double s, double c)

cdef extern from "multi_losses.h" nogil:
    enum:
        MULTI_EXACT
        MULTI_RUNNER_UP
    double multi_pair(const double* M, int K, int y, int j)
    void multi_mix(const double* M, int K, double* v, double* work)
    int multi_rival(const double* D, int K, int y, const double* p)
    double multi_value(int kind, const double* D, int K, int y, const double* p)
    void multi_grad(int kind, const double* D, int K, int y, const double* p, double* g)
    void multi_implicit(int kind, int rule, const double* D, const double* M, int K, int y, const double* p,
                        const double* f, double s, double c, double* work, double* alpha)
