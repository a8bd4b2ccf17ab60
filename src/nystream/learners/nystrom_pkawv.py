"""NystromPKAWV and NystromPKRR: kernel least squares in the span of a dictionary of points of the stream."""

from __future__ import annotations

import copy
import math
from typing import Any, ClassVar, Self

import numpy as np

from nystream._core.inputs import is_clean_row
from nystream.data.inputs import as_block
from nystream.dictionary.growing import BLOCK, DistantAtoms, GivenAtoms, Growing, Indices
from nystream.dictionary.history import History
from nystream.dictionary.kors import KORS
from nystream.dictionary.sampled import SampledAtoms
from nystream.kernels.base import Kernel
from nystream.learners.bounds import BoundTerms, fixed_price, moving_price
from nystream.learners.families.atoms import AtomLearner
from nystream.learners.families.averaging import Averaging
from nystream.learners.families.bulk import BulkLearning
from nystream.learners.families.least_squares import LeastSquares
from nystream.runtime.params import boolean, one_of, positive
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.types import Array, Seed
from nystream.solvers.meter import Meter
from nystream.solvers.moments import Moments
from nystream.solvers.nested_awv import NestedAWV

__all__ = ["NystromPKAWV", "NystromPKRR"]


class NystromPKAWV(LeastSquares, AtomLearner, Averaging, BulkLearning):
    """Kernel Vovk-Azoury-Warmuth regression in the span of a growing dictionary (PKAWV with Nystrom projections).

    Before y_t is known, x_t may become an atom of the dictionary. With P_t the projection on the span of the atoms of
    round t, the function that predicts is::

        f_t = argmin over f in the span of  sum_{s<t} (y_s - f(x_s))^2 + f(x_t)^2 + lam |f|^2          memory="exact"
        f_t = argmin ...                    sum_{s<t} (y_s - <f, P_s phi_s>)^2 + <f, P_t phi_t>^2 + lam |f|^2  "frozen"

    In nested Nystrom coordinates z (R R' = K_mm, z = R^-1 k) both are least squares on z with a ridge, and an atom is
    one more coordinate. "frozen" sets it to 0 in all past rows: O(m^2 + m d) time a round and in memory for m
    atoms, whatever the length of the stream. It equals "exact" if every past row lay in the span of its dictionary.
    "exact", the published algorithm, stores all rows and computes their new coordinate: O(n (m + d)) for each atom, and
    in memory. Whole streams are learnt in exact blocks, also while the dictionary grows.

    Guarantee of "frozen", which is plain AWV on the features P_t phi_t, for every f: cumulative loss at most
    (sqrt(L_f) + |f| sqrt(Delta))^2 + lam |f|^2 + B^2 log det(A/lam), with L_f the loss of f, B >= |y| unknown and
    Delta = sum_t (k(x_t, x_t) - |z_t|^2), see `missed` and `loss_bound`. `regret` and `regret_bound()` are against the
    best function of the features alone, whose norm is charged lam |f|^2; `regret_bound(against="kernel")` is against
    every function of the kernel's space, for either memory.

    Parameters
    ----------
    kernel : Kernel
    lam : float, default 1.0
        Ridge, > 0.
    mu : float or None
        Ridge of the leverage scores by which atoms are kept; smaller keeps more. None: lam.
    eps, beta : float
        Of the sampling, see `nystream.dictionary.KORS`; beta of 1 to 4 is the useful range, `math.inf` keeps all.
    memory : {"frozen", "exact"}
    dictionary : {"kors", "ald"} or array (m, d)
        The atoms: rows drawn by leverage; rows whose squared distance to the span is more than nu k(x, x); or these
        points only.
    nu : float, default 0.1
        Threshold of "ald".
    max_atoms : int or None
        No atom is added beyond this number.
    clip : float or None
        Predictions are clipped to [-clip, clip]; this never hurts if |y| <= clip.
    average : bool, default False
        Keep the mean of the functions of all rounds, for `averaged`, as in `PKAWV`. f_t is in the span of the atoms of
        round t, so nothing is lost when atoms are added.
    seed : int, Generator or None
        Seed of the sampling with "kors": one uniform per round.

    Deviations from the paper: "frozen", "ald" and several outputs are additions. mu = lam is practice, the theorem
    wants it far smaller. The published listing keeps a Cholesky factor of K_nm' K_nm + lam K_mm, which breaks down
    where atoms are nearly dependent, and changes state in `predict`; here A = L D L' in nested coordinates.

    References
    ----------
    Jezequel, Gaillard, Rudi. Efficient online learning with kernels for adversarial large scale problems.
    NeurIPS 2019, arXiv:1902.09917.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.sine(2000, seed=0)
    >>> model = nystream.NystromPKAWV(nystream.Gaussian(0.5), lam=0.1, seed=0)
    >>> p = model.run(X, y)
    >>> bool(((p - y) ** 2).mean() < 0.5 * y.var()), model.regret() <= model.regret_bound(), model.size < 100
    (True, True, True)
    """

    multi_output: ClassVar[bool] = True
    weighted: ClassVar[bool] = True
    vovk: ClassVar[bool] = True

    atoms_: Growing
    solver_: NestedAWV
    history_: History

    def __init__(
        self,
        kernel: Kernel,
        *,
        lam: float = 1.0,
        mu: float | None = None,
        eps: float = 0.5,
        beta: float = 1.0,
        memory: str = "frozen",
        dictionary: Any = "kors",
        nu: float = 0.1,
        max_atoms: int | None = None,
        clip: float | None = None,
        average: bool = False,
        seed: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.lam = positive("lam", lam)
        self.mu = None if mu is None else positive("mu", mu)
        self.eps = eps
        self.beta = beta
        self.memory = one_of("memory", memory, ("frozen", "exact"))
        self.dictionary = one_of("dictionary", dictionary, ("kors", "ald")) if np.ndim(dictionary) == 0 else dictionary
        self.nu = positive("nu", nu)
        self.max_atoms = max_atoms
        self.clip = None if clip is None else positive("clip", clip)
        self.average = boolean("average", average)
        self.seed = checked_seed(seed)
        self._dictionary()  # checks the values here, not at the first row

    # -- diagnostics -----------------------------------------------------------------------------------------------
    def log_det(self) -> float:
        """Return log det(A_t / lam)."""
        return self.solver_.log_det() if self.d_ else 0.0

    def effective_dimension(self) -> float:
        """Return m - lam tr A_t^-1, m atoms: the number of directions in which the data outweigh the ridge. O(m^3)."""
        return self.solver_.effective_dimension() if self.d_ else 0.0

    def missed(self) -> float:
        """Return Delta, the weighted sum of k(x, x) - |z(x)|^2, the part of the rows outside the dictionary.

        With frozen memory z is that of the round; with exact memory, that of the present dictionary.
        """
        return self.atoms_.missed if self.d_ else 0.0

    def _projection_price(self, energy: float) -> float:
        fixed = self.memory == "exact" or np.ndim(self.dictionary) > 0
        return (fixed_price if fixed else moving_price)(energy, self.missed(), self.lam)

    def published_bound(self, norm2: float, *, delta: float = 0.05, top: float | None = None) -> BoundTerms:
        """Return the bound of Theorem 6 against every f with |f|^2 <= norm2, which holds with probability 1 - delta.

        lam norm2 + B^2 d_eff(lam) log(e + e n top/lam) + 2 B^2 (m + 1) n mu/lam for m atoms. top is at least k(x, x),
        None: the largest so far. d_eff of the kernel is replaced by `effective_dimension()` + missed/lam, which bounds
        it. It needs memory="exact", dictionary="kors", eps = 1/2, mu <= lam, beta >= 12 log(n/delta), no clipping and
        rows of weight 1; a ValueError names a difference. This beta is the published one; the proof needs the larger
        `theory_beta(n, delta, all_rounds=True)`. `bound_terms(norm2, against="kernel")` needs none of this and holds
        always.
        """
        ridge = self.lam * positive("norm2", norm2, zero=True)
        n, mu = max(self.n_seen_, 1), self.lam if self.mu is None else self.mu
        needed = 12 * math.log(n / positive("delta", delta, below=1.0))
        wrong = [
            (self.memory != "exact", "memory='exact'"),
            (not isinstance(self.dictionary, str) or self.dictionary != "kors", "dictionary='kors'"),
            (self.eps != 0.5, "eps=0.5"),
            (mu > self.lam, f"mu of at most lam={self.lam:g}"),
            (self.beta < needed, f"beta of at least {needed:.4g} for {n} rows and delta={delta:g}"),
            (self.max_atoms is not None, "max_atoms=None"),
            (not self.vovk or self.outputs_ > 1, "NystromPKAWV with one output"),
            (self.clip is not None, "clip=None"),
            (bool(self.d_) and not self._meter.is_plain, "rows of weight 1"),
        ]
        missing = [what for is_wrong, what in wrong if is_wrong]
        if missing:
            raise ValueError(f"Theorem 6 is about {', '.join(missing)}; this is {self!r}; see bound_terms")
        if not self.d_:
            return BoundTerms(ridge, 0.0, 0.0)
        if top is None:
            top = float(self.kernel.diag(self.history_.points_.view).max())
        B2, effective = self._meter.largest**2, self.effective_dimension() + self.missed() / self.lam
        growth = effective * math.log(math.e + math.e * n * top / self.lam)
        return BoundTerms(ridge, B2 * growth, 2 * B2 * (self.size + 1) * n * mu / self.lam)

    def loss_bound(self, loss: float, norm2: float) -> float:
        """Return an upper bound of the cumulative loss if some f with |f|^2 = norm2 has this cumulative loss.

        (sqrt(loss) + |f| sqrt(Delta))^2 + lam |f|^2 + regret_bound(). Several outputs: sums over them.
        """
        positive("loss", loss, zero=True)
        positive("norm2", norm2, zero=True)
        projected = (math.sqrt(loss) + math.sqrt(norm2 * self.missed())) ** 2
        return projected + self.lam * norm2 + self.regret_bound()

    def leverage(self, X: Any) -> Array:
        """Return s = z'A^-1 z (n,) in the present span. `std` also counts the part outside the span."""
        return super().leverage(X)

    def std(self, X: Any) -> Array:
        """Return standard deviations sqrt(best/n (1 + s + (k(x, x) - |z|^2)/lam)): (n,), or (n, K) with K outputs.

        The last term is the part of x outside the span.
        """
        X = self._block(X)
        outside = self.atoms_.nested_.residual(X) / self.lam
        return self._outward(np.sqrt((1 + self._leverage(X) + outside)[:, None] * self._meter.variance))

    @property
    def nbytes(self) -> int:
        if not self.d_:
            return 0
        return self.atoms_.nbytes + self.solver_.nbytes + (self.history_.nbytes if self.memory == "exact" else 0)

    # -- changes of the model ---------------------------------------------------------------------------------------
    def add_outputs(self, combination: Array) -> None:
        """Add outputs whose past labels are combinations (K, new) of those of the present outputs. Exact."""
        self.solver_.add_outputs(combination)
        if self.memory == "exact":
            self.history_.add_outputs(combination)
        self._gained(combination.shape[1])

    def merge(self, other: Self) -> Self:
        """Become the model of both streams, with each row projected on the dictionary of its round and stream.

        Exact for that model, in any order and any tree; equal dictionaries stay as they are, different ones are united.
        With `max_atoms`, the part of the other's rows outside the kept atoms is lost, and counted in `missed`.
        Seeds may differ. The meter is merged as in `PKAWV`. Frozen memory only.
        """
        self._require("merge")
        if type(other) is not type(self) or self._key() != other._key():
            raise ValueError(f"merge needs learners with equal parameters (seeds aside); got {self!r} and {other!r}")
        if not other.d_:
            return self
        if not self.d_:
            self._restore(copy.deepcopy(other._state()))
            return self
        if (self.d_, self.outputs_) != (other.d_, other.outputs_):
            raise ValueError(
                f"merge needs equal columns and outputs; got {self.d_}, {self.outputs_}; {other.d_}, {other.outputs_}"
            )
        atoms, solver = copy.deepcopy(self.atoms_), copy.deepcopy(self.solver_)  # an error must not leave a change
        T = atoms.unite(other.atoms_)
        theirs, lost = other.solver_.carried(T, atoms.width)
        solver.widen(atoms.width)
        solver.merge(theirs)
        atoms.missed_ += other.atoms_.missed_ + lost
        self.atoms_, self.solver_ = atoms, solver
        self.n_seen_ += other.n_seen_
        return self

    def why_not(self, ability: str) -> str | None:
        if ability == "merge" and self.memory == "exact":
            return "memory='exact' ties its rows to one dictionary; use memory='frozen'"
        return super().why_not(ability)

    # -- machinery -------------------------------------------------------------------------------------------------
    def _dictionary(self) -> Growing:
        if np.ndim(self.dictionary):
            return GivenAtoms(self.kernel, as_block(self.dictionary, name="dictionary"), self.max_atoms)
        if self.dictionary == "ald":
            return DistantAtoms(self.kernel, self.nu, self.max_atoms)
        mu = self.lam if self.mu is None else self.mu
        return SampledAtoms(KORS(self.kernel, mu, eps=self.eps, beta=self.beta, max_atoms=self.max_atoms))

    def _key(self) -> dict[str, Any]:
        """Return the parameters that must agree in models that merge."""
        params = {k: v for k, v in self.get_params(deep=False).items() if k not in ("seed", "dictionary")}
        return {**params, "dictionary": self.dictionary if np.ndim(self.dictionary) == 0 else "given"}

    def _start(self, d: int, outputs: int) -> None:
        atoms = self._dictionary()
        atoms.start(d, generator(self.seed))
        solver = NestedAWV(self.lam, vovk=self.vovk, clip=self.clip, average=self.average)
        solver.start(atoms.width, outputs)
        self.atoms_, self.solver_ = atoms, solver
        if self.memory == "exact":
            self.history_ = History(self.kernel)
            self.history_.start(d, outputs)
            for _ in range(atoms.n):  # given beforehand
                self.history_.append_column(np.zeros(0))

    def _check(self, X: Array, learnt: int) -> None:
        self.atoms_.squares(X)

    def _predict(self, X: Array) -> Array:
        k, P = self.atoms_.squares(X), np.empty((len(X), self.outputs_))
        for i in range(0, len(X), BLOCK):
            part = slice(i, i + BLOCK)
            Z, grows = self.atoms_.ask(X[part], k[part])
            P[part] = self.solver_.predict(Z)
            if self.memory == "exact":
                for row in np.flatnonzero(grows):
                    twin = copy.deepcopy(self.solver_)
                    twin.border(self.size, *self._past(X[i + row], Z[row])[1:])
                    P[i + row] = twin.predict(Z[row : row + 1])[0]
        return P

    def _averaged(self, X: Array) -> Array:
        W, P = self.solver_.averaged()[: self.size], np.empty((len(X), self.outputs_))
        for i in range(0, len(X), BLOCK):
            P[i : i + BLOCK] = self.atoms_.nested_.coordinates(X[i : i + BLOCK]) @ W
        return P if self.clip is None else np.clip(P, -self.clip, self.clip)

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        k, P, row = self.atoms_.squares(X), np.empty_like(Y), 0
        while row < len(X):
            part = slice(row, row + BLOCK)
            w = None if weights is None else weights[part]
            Z, entered = self.atoms_.admit(X[part], k[part], w)
            self.solver_.widen(self.atoms_.width)
            if self.memory == "exact":
                P[part] = self._remember(X[part], Z, Y[part], w, entered)
            else:
                P[part] = self.solver_.run(Z, Y[part], w)
            row = part.stop
        return P

    def _learn_bulk(self, X: Array, Y: Array, weights: Array | None) -> None:
        if self.memory == "exact" and self.n_seen_:
            raise ValueError("with memory='exact', fit_bulk comes before all other rows; use run from now on")
        atoms, k = copy.deepcopy(self.atoms_), self.atoms_.squares(X)
        moments = Moments(atoms.width, self.outputs_)
        blocks = [slice(i, i + BLOCK) for i in range(0, len(X), BLOCK)]
        for part in blocks:
            w = None if weights is None else weights[part]
            Z, _ = atoms.admit(X[part], k[part], w)
            if self.memory == "frozen":
                moments.add(Z, Y[part], w)
        history = self._recalled(X, Y, k, weights, atoms, moments) if self.memory == "exact" else None
        self.solver_.widen(atoms.width)
        self.solver_.learn_moments(moments)
        self.atoms_ = atoms
        if history is not None:
            self.history_ = history

    def _recalled(
        self, X: Array, Y: Array, k: Array, weights: Array | None, atoms: Growing, moments: Moments
    ) -> History:
        """Return the rows with their coordinates in the span of all atoms, and add them to the moments too."""
        history = History(self.kernel)
        history.start(self.d_, self.outputs_)
        for _ in range(atoms.n):
            history.append_column(np.zeros(0))
        atoms.missed_ = 0.0
        for i in range(0, len(X), BLOCK):
            part = slice(i, i + BLOCK)
            w = None if weights is None else weights[part]
            Z, inside = atoms.nested_.forward(atoms.nested_.values(X[part]))
            moments.add(Z, Y[part], w)
            history.extend(X[part], Y[part], Z, w)
            missed = np.maximum(k[part] - inside, 0.0)
            atoms.missed_ += float(missed.sum() if w is None else w @ missed)
        return history

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        if self.memory == "exact" or weight != 1:
            return super()._step(x, y, weight)
        return self.solver_.step(self._admit_row(x), y)

    def _step_one(self, x: Any, y: Any) -> float | None:
        known = (self.atoms_.engine or self.atoms_.known()) if self.memory == "frozen" else None
        p = None if known is None else self.solver_.one(known, x, y)
        if p is not None:
            return p
        if type(y) is not float or y - y != 0.0 or self.memory == "exact" or not is_clean_row(x, self.d_):
            return super()._step_one(x, y)
        return self.solver_.step_one(self._admit_row(x), y)  # straight to the compiled pass

    def _admit_row(self, x: Array) -> Array:
        z, entered = self.atoms_.admit_row(x)
        if entered:
            self.solver_.widen(self.atoms_.width)
        return z

    def _remember(self, X: Array, Z: Array, Y: Array, weights: Array | None, entered: Indices) -> Array:
        """Do one block with exact memory. After each new atom, all earlier rows get their new coordinate."""
        P, start = np.empty_like(Y), 0
        first = self.size - len(entered)
        for j, stop in enumerate([*entered.tolist(), len(X)]):
            part = slice(start, stop)
            w = None if weights is None else weights[part]
            P[part] = self.solver_.run(Z[part], Y[part], w)
            self.history_.extend(X[part], Y[part], Z[part], w)
            if stop < len(X):
                column, products, square, targets = self._past(X[stop], Z[stop], first + j)
                self.solver_.reveal(first + j, products, square, targets)
                self.history_.append_column(column)
                self.atoms_.missed_ = max(self.atoms_.missed_ - (square - self.lam), 0.0)
            start = stop
        return P

    def _past(self, x: Array, z: Array, i: int | None = None) -> tuple[Array, Array, float, Array]:
        """Return the coordinate of the past rows along atom i at x, its products, its square and its targets."""
        i = self.size if i is None else i
        past = self.history_
        column = past.column(x, z[:i], z[i])
        weighted = past.weights * column
        return column, weighted @ past.coordinates, self.lam + float(weighted @ column), weighted @ past.labels

    def _leverage(self, X: Array) -> Array:
        """Return z'A^-1 z in the present span."""
        s = np.empty(len(X))
        for i in range(0, len(X), BLOCK):
            Z = np.zeros((len(X[i : i + BLOCK]), self.solver_.dim_))
            Z[:, : self.size] = self.atoms_.nested_.coordinates(X[i : i + BLOCK])
            s[i : i + BLOCK] = self.solver_.leverage(Z)
        return s

    def _widen(self, d: int) -> None:
        self.atoms_.widen(d)
        if self.memory == "exact":
            self.history_.widen(d)

    @property
    def _meter(self) -> Meter:
        return self.solver_.meter_


class NystromPKRR(NystromPKAWV):
    """Online kernel ridge regression in the span of a growing dictionary: `NystromPKAWV` without counting x_t.

    Predicts with the ridge function of the examples before t itself, without the term f(x_t)^2. Same parameters, cost
    and methods. Usually a little better on independent data, with a worse worst case: regret at most
    max_t (y_t - p_t)^2 d_onl, hence 4 B^2 d_onl with clipping to [-B, B] and |y| <= B. With dictionary="ald" and
    frozen memory it is kernel recursive least squares with a ridge.

    References
    ----------
    Jezequel, Gaillard, Rudi. Efficient online learning with kernels for adversarial large scale problems.
    NeurIPS 2019, arXiv:1902.09917. Engel, Mannor, Meir. The kernel recursive least-squares algorithm. IEEE
    Transactions on Signal Processing 52, 2004.

    Examples
    --------
    >>> import nystream
    >>> X, y = nystream.streams.sine(2000, seed=0)
    >>> model = nystream.NystromPKRR(nystream.Gaussian(0.5), lam=0.1, dictionary="ald", nu=0.01)
    >>> p = model.run(X, y)
    >>> bool(((p - y) ** 2).mean() < 0.5 * y.var())
    True
    """

    vovk: ClassVar[bool] = False
