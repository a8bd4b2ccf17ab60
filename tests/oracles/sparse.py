"""Tables written slowly: the hash, the encoding of rows one by one in plain Python, and both sparse learners."""

from __future__ import annotations

import math

import numpy as np

WORD = 0xFFFFFFFF


# -- MurmurHash3, x86, 32 bits -----------------------------------------------------------------------------------------
def murmur3(content: bytes, seed: int = 0) -> int:
    def scrambled(k):
        k = k * 0xCC9E2D51 & WORD
        k = (k << 15 | k >> 17) & WORD
        return k * 0x1B873593 & WORD

    h, whole = seed, len(content) // 4 * 4
    for i in range(0, whole, 4):
        h ^= scrambled(int.from_bytes(content[i : i + 4], "little"))
        h = (h << 13 | h >> 19) & WORD
        h = (h * 5 + 0xE6546B64) & WORD
    if whole < len(content):
        h ^= scrambled(int.from_bytes(content[whole:], "little"))
    return mixed(h ^ len(content))


def mixed(h: int) -> int:
    h ^= h >> 16
    h = h * 0x85EBCA6B & WORD
    h ^= h >> 13
    h = h * 0xC2B2AE35 & WORD
    return h ^ h >> 16


def of_number(number: int, seed: int) -> int:
    return murmur3((number & WORD).to_bytes(4, "little"), seed)


def of_pair(one: int, two: int, seed: int) -> int:
    return murmur3(one.to_bytes(4, "little") + two.to_bytes(4, "little"), seed)


# -- the encoder -------------------------------------------------------------------------------------------------------
class EncoderOracle:
    """Columns as dicts {name: value}; statistics in dicts by hash, so that levels never share a bucket by chance."""

    def __init__(self, kinds, outputs, *, classes=False, pairs=64, buckets=2**13):
        self.kinds, self.classes, self.pairs = kinds, classes, pairs
        self.k = min(outputs - 1, 8) if classes else outputs
        self.seeds = {name: [murmur3(name.encode(), i) for i in range(3)] for name in kinds}
        self.shift = 32 - int(math.log2(buckets))
        self.moments = {name: [0.0, 0.0, 0.0] for name in kinds}
        self.levels, self.totals = {}, np.zeros(1 + self.k)

    def encode(self, row, words):
        """Dense numbers, buckets by category, tokens without pairs, pairs."""
        dense, slots, tokens = [], [], []
        for name, kind in self.kinds.items():
            value, seeds = row.get(name), self.seeds[name]
            if kind in ("number", "boolean"):
                dense.append(math.nan if value is None else float(value))
                tokens += self._number(name, dense[-1])
            elif kind == "category":
                slots.append((name, murmur3(b"\xff" if value is None else value.encode(), seeds[0])))
                tokens.append((slots[-1][1], 1.0))
            elif kind == "time":
                numbers, hashes = self._time(name, value)
                dense += numbers
                slots += [((name, i), h) for i, h in enumerate(hashes)]
                tokens += [(h, 1.0) for h in hashes]
            elif value is None:
                tokens.append((murmur3(b"\xff", seeds[0]), 1.0))
            else:
                tokens += self._text(value, seeds, words)
        together = [of_pair(slots[i][1], slots[j][1], 0) for j in range(len(slots)) for i in range(j)]
        keys = [(slot, h >> self.shift) for slot, h in slots]
        return dense + self._means(keys), keys, tokens, [(h, 1.0) for h in together[: self.pairs]]

    def observe(self, row, weight):
        for name, kind in self.kinds.items():
            x = row.get(name)
            if x is None or (isinstance(x, float) and math.isnan(x)):
                continue
            if kind in ("number", "boolean"):
                m, x = self.moments[name], min(max(float(x), -1e100), 1e100)
                sd = math.sqrt(m[2] / m[0]) if m[2] > 0 else 0.0
                if m[0] >= 10 and sd > 0:
                    x = min(max(x, m[1] - 10 * sd), m[1] + 10 * sd)
                gap = x - m[1]
                m[0] += weight
                m[1] += gap * weight / m[0]
                m[2] += weight * gap * (x - m[1])

    def learn(self, keys, y, weight):
        gain = np.zeros(1 + self.k)
        gain[0] = weight
        if not self.classes:
            gain[1:] = weight * np.atleast_1d(y)
        elif 0 < y <= self.k:
            gain[int(y)] = weight
        self.totals = self.totals + gain
        for key in keys:
            self.levels[key] = self.levels.get(key, np.zeros(1 + self.k)) + gain

    def _means(self, keys):
        m = self.totals[1:] / self.totals[0] if self.totals[0] else np.zeros(self.k)
        records = [self.levels.get(key, np.zeros(1 + self.k)) for key in keys]
        return [(r[1 + j] + 10 * m[j]) / (r[0] + 10) for j in range(self.k) for r in records]

    def _number(self, name, x):
        seeds, (n, mean, squares) = self.seeds[name], self.moments[name]
        if math.isnan(x):
            return [(of_number(0x7FFFFFFF, seeds[1]), 1.0)]
        z = (x - mean) / math.sqrt(squares / n) if squares > 0 else 0.0
        z = min(max(z, -3.0), 3.0)
        sized = 0 if x == 0 else math.floor(2 * math.log2(abs(x))) + 4096
        bins = [(of_number(math.floor(2 * z), seeds[1]), 1.0), (of_number(int(math.copysign(sized, x)), seeds[2]), 1.0)]
        return ([(seeds[0], z)] if z else []) + bins

    def _time(self, name, value):
        if value is None:
            return [math.nan] * 8, [of_number(0x7FFFFFFF, self.seeds[name][i]) for i in range(2)]
        at = float(np.datetime64(value, "us").astype(np.int64))
        turns = [2 * math.pi * (at % period) / period for period in (86400e6, 7 * 86400e6, 31556952e6)]
        waves = [f(turn) for turn in turns for f in (math.sin, math.cos)]
        when = np.datetime64(value, "us").item()
        hour = when.hour + when.minute / 60 + (when.second + when.microsecond / 1e6) / 3600
        hashes = [of_number(when.hour, self.seeds[name][0]), of_number(when.weekday(), self.seeds[name][1])]
        return [*waves, hour, float(when.weekday())], hashes

    def _text(self, value, seeds, words):
        hashes = [murmur3(word.encode(), seeds[0]) for word in words(value)]
        every = [murmur3(value.encode(), seeds[2])]
        for i, h in enumerate(hashes):
            every += [h] + ([of_pair(hashes[i - 1], h, seeds[1])] if i else [])
        distinct = list(dict.fromkeys(every))
        return [(h, 1 / math.sqrt(len(distinct))) for h in distinct]


def microseconds(time):
    return float(np.datetime64(time, "us").astype(np.int64))


# -- learners of sparse rows -------------------------------------------------------------------------------------------
def places(row, bits, pairs):
    """[(column, value)] -> [(place, value)], the constant last."""
    out = [((c if c < 2**bits else mixed(c)) % 2**bits, x) for c, x in row]
    if pairs:
        seed = int.from_bytes(b"pair", "big")
        for i, (c, x) in enumerate(row):
            out += [(of_pair(d, c, seed) % 2**bits, x * z) for d, z in row[:i]]
    return [*out, ("constant", 1.0)]


class Labels:
    """Running scale and range of one real target."""

    def __init__(self):
        self.n, self.mean, self.squares, self.low, self.high = 0.0, 0.0, 0.0, 0.0, 0.0

    def count(self, y, weight):
        self.low, self.high = (min(self.low, y), max(self.high, y)) if self.n else (y, y)
        gap = y - self.mean
        self.n += weight
        self.mean += gap * weight / self.n
        self.squares += weight * gap * (y - self.mean)

    @property
    def sd(self):
        return math.sqrt(self.squares / self.n) if self.squares > 0 else 1.0

    def held(self, f):
        more = 0.5 * (self.high - self.low)
        return min(max(f, (self.low - more - self.mean) / self.sd), (self.high + more - self.mean) / self.sd)


def residual(loss, y, p):
    """-dl/dp of scores p (K,); y: standardised targets, a sign or a class."""
    if loss == "squared":
        return np.clip(y - p, -5, 5)
    if loss == "logistic":
        return np.array([(y + 1) / 2 - 1 / (1 + math.exp(-p[0]))])
    q = np.exp(p - p.max())
    return np.eye(len(p))[int(y)] - q / q.sum()


def adagrad(rows, Y, loss, outputs, rates, bits=18, pairs=False, weights=None):
    """Predictions (n, K) before each label; rows are lists of (column, value)."""
    M, real = len(rates), loss == "squared"
    w, v = [{} for _ in rates], [{} for _ in rates]
    shares = np.full((outputs if real else 1, M), 1 / M)
    H = np.zeros((len(shares), M, M))
    labels = [Labels() for _ in range(outputs)]
    norm, total, out = 0.0, 0.0, []
    for t, row in enumerate(rows):
        x, weight = places(row, bits, pairs), 1.0 if weights is None else weights[t]
        raw = np.array([sum(z * w[m].get(i, np.zeros(outputs)) for i, z in x) for m in range(M)])
        held = np.array([[lab.held(f) for lab, f in zip(labels, r, strict=True)] for r in raw]) if real else raw
        held = held if real else np.clip(held, -30, 30)
        pooled = np.einsum("km,mk->k", np.broadcast_to(shares, (outputs, M)), held)
        if real:
            pooled = np.array([lab.held(f) for lab, f in zip(labels, pooled, strict=True)])
        out.append([lab.mean + lab.sd * f for lab, f in zip(labels, pooled, strict=True)] if real else pooled)
        if weight == 0:
            continue
        y = Y[t]
        if real:
            for lab, target in zip(labels, np.atleast_1d(y), strict=True):
                lab.count(target, weight)
            y = np.array([(a - lab.mean) / lab.sd for lab, a in zip(labels, np.atleast_1d(y), strict=True)])
        total += weight
        norm += (sum(abs(z) for _, z in x) - norm) * weight / total
        if M > 1:
            e = residual(loss, y, pooled)
            curve = np.eye(outputs)
            if loss == "logistic":
                curve *= np.exp(-pooled) / (1 + np.exp(-pooled)) ** 2
            elif loss == "softmax":
                p = np.eye(outputs)[int(y)] - e
                curve = np.diag(p) - np.outer(p, p)
            for g in range(len(shares)):
                mine = slice(g, g + 1) if real else slice(None)
                H[g] = 0.999 * H[g] + weight * held[:, mine] @ curve[mine, mine] @ held[:, mine].T
                ridge = 30 + 1e-10 * np.trace(H[g])
                shares[g] += np.linalg.solve(H[g] + ridge * np.eye(M), weight * held[:, mine] @ e[mine])
        for m, rate in enumerate(rates):
            e = residual(loss, y, raw[m])
            for i, z in x:
                g = weight * z * e
                grown = g**2 if real else np.full(outputs, (g**2).sum())
                v[m][i] = v[m].get(i, 0.0) + grown
                w[m][i] = w[m].get(i, np.zeros(outputs)) + rate / norm * g / np.sqrt(np.where(v[m][i] > 0, v[m][i], 1))
    return np.array(out)


def gaussian_filter(rows, Y, loss, outputs, prior, bits=18, pairs=False, weights=None):
    """Predictions (n, K) before each label."""
    real = loss == "squared"
    w, v, labels, noise = {}, {}, [Labels() for _ in range(outputs)], np.ones(outputs)
    norm, total, zero, out = 0.0, 0.0, np.zeros(outputs), []
    for t, row in enumerate(rows):
        x, weight, y = places(row, bits, pairs), 1.0 if weights is None else weights[t], Y[t]
        p = sum(z * w.get(i, zero) for i, z in x)
        out.append([lab.mean + lab.sd * lab.held(f) for lab, f in zip(labels, p, strict=True)] if real else p)
        if weight == 0:
            continue
        total += weight
        norm += (sum(z * z for _, z in x) - norm) * weight / total
        if real:
            for lab, target in zip(labels, np.atleast_1d(y), strict=True):
                lab.count(target, weight)
            y = np.array([(a - lab.mean) / lab.sd for lab, a in zip(labels, np.atleast_1d(y), strict=True)])
        e = residual(loss, y, p)
        if real:
            noise = noise + 0.01 * weight / (1 + 0.01 * weight) * (e**2 - noise)
            h = 1 / np.maximum(noise, 1e-6)
            e = h * e
        else:
            h = np.maximum(np.abs(e) * (1 - np.abs(e)), 0.01)
        spread = sum(z * z / (prior * norm + v.get(i, zero)) for i, z in x)
        gain = weight * e / (1 + weight * h * spread)
        for i, z in x:
            w[i] = w.get(i, zero) + gain * z / (prior * norm + v.get(i, zero))
            v[i] = v.get(i, zero) + weight * h * z * z
    return np.array(out)
