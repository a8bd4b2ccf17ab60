"""Learners on random features written slowly: directions drawn here once more, every round a few lines of NumPy."""

from __future__ import annotations

import numpy as np

from nystream.losses import as_loss


def gradient(loss, y, p):
    """l'(y, p) for labels y (K,) or (1,) of a class; a label similarity mixes what labels like it learn."""
    if not loss.multiclass:
        return loss.grad(y, p)
    M = getattr(loss, "label_similarity", None)
    g = loss.grad(y.astype(int), p[None])[0]
    return g if M is None else M @ g


def implicit(loss, y, p, s, c):
    return loss.implicit(y.astype(int), p[None], s, c)[0] if loss.multiclass else loss.implicit(y, p, s, c)


def descent(loss, Z, Y, weights, method, eta, schedule, lam, classes=3):
    """Predictions and final w (dim, K) of gradient descent on rows Z: the recursion line by line."""
    K = classes if loss.multiclass else Y.shape[1]
    w, m, v = np.zeros((3, Z.shape[1], K))
    P = []
    for t, (z, y, weight) in enumerate(zip(Z, Y, weights, strict=True), 1):
        step = eta / np.sqrt(t) if schedule == "sqrt" else eta
        p = z @ w
        P.append(p)
        G = np.outer(z, weight * gradient(loss, y, p)) + lam * w
        if method == "sgd":
            w = w - step * G
        elif method == "adagrad":
            v = v + G**2
            w = w - step * G / (np.sqrt(v) + 1e-8)
        elif method == "adam":
            m, v = 0.9 * m + 0.1 * G, 0.999 * v + 0.001 * G**2
            w = w - step * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        else:
            kappa = 1 / (1 + step * lam)
            w = kappa * w + np.outer(z, implicit(loss, y, kappa * p, z @ z, kappa * step * weight))
    return np.array(P), w


def fourier(X, sigma, dim, seed):
    """[cos(Wx), sin(Wx)]/sqrt(D), D = dim/2, rows of W from N(0, I/sigma^2)."""
    D = dim // 2
    U = X @ (np.random.default_rng(seed).standard_normal((D, X.shape[1])) / sigma).T
    return np.hstack([np.cos(U), np.sin(U)]) / np.sqrt(D)


def rrf(model, X, y, loss, eta, eta_scale, lam, outputs=1):
    """Predictions and final log-scales: the four lines of the algorithm, from the normals of the model's seed."""
    D = model.dim // 2
    E = np.random.default_rng(model.seed).standard_normal((D, X.shape[1])).T
    a, W, P = np.full(X.shape[1], -np.log(model.kernel.sigma)), np.zeros((outputs, 2 * D)), []
    loss = as_loss(loss)
    for x, label in zip(X, y, strict=True):
        u = E.T @ (np.exp(a) * x)
        z = np.concatenate([np.cos(u), np.sin(u)]) / np.sqrt(D)
        p = W @ z
        P.append(p)
        g = loss.grad(int(label), p) if loss.multiclass else np.array([loss.grad(label, p[0])])
        h = sum(g[k] * (W[k, D:] * np.cos(u) - W[k, :D] * np.sin(u)) for k in range(outputs))
        da = x * np.exp(a) / np.sqrt(D) * (E @ h)
        W = W - eta * (np.outer(g, z) + lam * W)
        a = a - eta_scale * np.clip(da, -1, 1)
    return np.array(P), a


def phi(model, X, t):
    """(n, B): the features of round t of DoublySGD, drawn here once more by a generator of (seed, t)."""
    key = np.random.SeedSequence(model.seed).generate_state(2, np.uint64)
    rng = np.random.Generator(np.random.Philox(key=key, counter=t << 64))
    omega = rng.standard_normal((model.block, X.shape[1])) / model.kernel.sigma
    b = rng.uniform(0, 2 * np.pi, model.block)
    return np.sqrt(2) * np.cos(X @ omega.T + b)


def doubly_sgd(model, X, y, loss, lam, step, t0, outputs=1, weights=None):
    """Predictions (n, K): every coefficient decayed and every feature evaluated in every round."""
    loss, B, a, Phi, P = as_loss(loss), model.block, [], [], []
    for t in range(1, len(X) + 1):
        p = sum((f[t - 1] @ c for f, c in zip(Phi, a, strict=True)), np.zeros(outputs))
        P.append(p)
        rate = step / (t0 + t)
        g = loss.grad(int(y[t - 1]), p) if loss.multiclass else np.array([loss.grad(y[t - 1], p[0])])
        a = [(1 - rate * lam) * c for c in a]
        Phi.append(phi(model, X, t))
        a.append(-rate * (1 if weights is None else weights[t - 1]) / B * np.outer(Phi[-1][t - 1], g))
    return np.array(P)
