"""Prints the polynomials of src/exp.rs and src/activation/*.rs: minimax in the relative error (GELU's: of the
absolute error of the normal distribution), by weighted least squares whose weights grow where the error is largest
(Lawson's method). Needs numpy and scipy; usage: python minimax.py
"""

import numpy as np
from scipy.special import erf, ndtr


def nodes(low, high, count=4000):
    """Places of [low, high], denser towards both ends, as the errors are."""
    return (low + high) / 2 - (high - low) / 2 * np.cos((np.arange(count) + 0.5) * np.pi / count)


def lawson(columns, target, weight, rounds=60):
    """Coefficients c that make max |weight·(columns·c − target)| least; `weight(c)` may depend on the last ones."""
    best, coefficients, share = np.inf, None, np.ones(len(target))
    for _ in range(rounds):
        w = weight(coefficients) * np.sqrt(share)
        scaled = columns * w[:, None]
        norm = np.linalg.norm(scaled, axis=0)
        coefficients = np.linalg.lstsq(scaled / norm, target * w, rcond=1e-16)[0] / norm
        error = np.abs(columns @ coefficients - target) * weight(coefficients)
        if error.max() < best:
            best, found = error.max(), coefficients
        share *= error / error.max() + 1e-3
        share /= share.mean()
    return best, found


def report(name, error, coefficients):
    print(f"{name}: {error:.1e}", *(f"{np.float32(c)!s}" for c in coefficients))


def polynomial(name, function, low, high, degree):
    """function(x) ≈ 1 + c₁x + … + c_degree·x^degree."""
    x = nodes(low, high)
    columns = np.vander(x, degree + 1, increasing=True)[:, 1:]
    error, c = lawson(columns, function(x) - 1, lambda _: 1 / function(x))
    report(name, error, c)


def log1p(degree=3):
    """ln(1 + u)/u ≈ P(u)/Q(u) on 0..1, P(0) = Q(0) = 1."""
    u = nodes(0, 1)
    f, powers = np.log1p(u) / u, np.vander(u, degree + 1, increasing=True)
    columns = np.hstack([powers[:, 1:], -f[:, None] * powers[:, 1:]])
    denominator = lambda c: np.ones_like(u) if c is None else 1 + powers[:, 1:] @ c[degree:]
    error, c = lawson(columns, f - 1, lambda c: 1 / (f * denominator(c)))
    report("LOG1P_P", error, np.concatenate([[1], c[:degree]]))
    report("LOG1P_Q", error, np.concatenate([[1], c[degree:]]))


def normal(limit=5.3, degree=5):
    """(Φ(x) − ½)/x ≈ P(z)/Q(z), z = x², Q(0) = 1; the error counts times |x|, as it does in Φ."""
    z = nodes(0, limit * limit, 2000)
    x = np.sqrt(z)
    f, powers = erf(x / np.sqrt(2)) / (2 * x), np.vander(z / limit**2, degree + 1, increasing=True)
    columns = np.hstack([powers, -f[:, None] * powers[:, 1:]])
    denominator = lambda c: np.ones_like(z) if c is None else 1 + powers[:, 1:] @ c[degree + 1 :]
    error, c = lawson(columns, f, lambda c: (x + 0.1) / denominator(c))
    scale = limit ** (2.0 * np.arange(degree + 1))
    report("NORMAL_P", error, c[: degree + 1] / scale)
    report("NORMAL_Q", error, np.concatenate([[1], c[degree + 1 :] / scale[1:]]))


def normal_table(limit=5.45, degree=5):
    """Φ(x) in v = 15·x/limit: for each integer i of −16..15 a polynomial in v − i, |v − i| ≤ ½. Printed by power, then by i
    in the order 0, …, 15, −16, …, −1 (the low five bits of i). Φ(−∞) = 0 and Φ(∞) = 1 are exact: v is limited to −16..15."""
    u = nodes(-0.5, 0.5, 1000)
    columns, table, worst = np.vander(u, degree + 1, increasing=True), [], 0
    for i in [*range(16), *range(-16, 0)]:
        v = u + i
        if i == -16:
            table.append(np.zeros(degree + 1))
            continue
        inside = v <= 15
        fixed = {0: 0.5, 15: 1.0}.get(i)
        first = 0 if fixed is None else 1
        target = ndtr(v[inside] * limit / 15) - (fixed or 0)
        error, c = lawson(columns[inside, first:], target, lambda _: np.ones(inside.sum()))
        worst = max(worst, error)
        c = c if fixed is None else np.concatenate([[fixed], c])
        table.append(np.where(np.abs(c) < 1e-12, 0, c))
    for power, row in enumerate(np.array(table).T):
        report(f"NORMAL_TABLE {power}", worst, row)


half_ln_2 = np.log(2) / 2 * 1.001
polynomial("EXP", np.exp, -half_ln_2, half_ln_2, 6)
polynomial("EXP2", np.exp2, -0.5, 0.5, 6)
polynomial("TANH", lambda z: np.tanh(np.sqrt(z)) / np.sqrt(z), 1e-9, 0.625**2, 5)
normal()
normal_table()
log1p()
