"""Weights by the probability that a stale copy is noticed: the embarrassment of a search engine that returned it.

Source: Wolf et al., "Optimal crawling strategies for web search engines", section 2.2 (equation 8), and section 5 for
the clicks.
"""

import numpy as np
from numpy.typing import ArrayLike

from bestbefore.policies.prefetch.checked import RowError
from bestbefore.policies.units import FloatArray


def embarrassment_weights(incorrect: ArrayLike, clicked: ArrayLike, returned: ArrayLike) -> FloatArray:
    """w_i = d_i sum over j, k of c_jk b_ijk, (n,): the probability that a stale object i gives a wrong answer.

    The arguments are probabilities. `incorrect` d (n,): a stale copy gives a wrong answer. `clicked` c (positions,
    pages): a client clicks on position j of result page k. `returned` b (n, positions, pages): the object is returned
    at this place; the sum over places is at most 1.

    Raises a `RowError` for the first object with an invalid probability, and ValueError for differing shapes.
    """
    d, c, b = (np.asarray(part, dtype=np.float64) for part in (incorrect, clicked, returned))
    if d.ndim != 1 or c.ndim != 2 or b.shape != (*d.shape, *c.shape):
        raise ValueError(
            f"incorrect, clicked and returned have the shapes {d.shape}, {c.shape} and {b.shape}, "
            "expected (n,), (positions, pages) and (n, positions, pages)"
        )
    if not _probable(c).all():
        raise ValueError("a click has a probability outside [0, 1]")
    for name, good in (
        ("a wrong answer", _probable(d)),
        ("being returned", _probable(b).all(axis=(1, 2)) & (b.sum(axis=(1, 2)) <= 1.0 + 1e-9)),
    ):
        if not good.all():
            raise RowError(int(good.argmin()), f"the probability of {name} lies outside [0, 1]")
    weights: FloatArray = d * np.einsum("jk,ijk->i", c, b)
    return weights


def click_probabilities(positions: int, pages: int, next_page: float, zipf: float = 0.0) -> FloatArray:
    """c, (positions, pages): Zipf-like in the overall rank l = (k-1) positions + j, geometric in the result page k.

    c_jk = next_page^(k-1) l^(zipf-1) / sum of l^(zipf-1), where `next_page` in [0, 1] is the probability that a client
    continues to the next page, and `zipf` in [0, 1] goes from 0 (1/l) to 1 (uniform). ValueError outside these.
    """
    if positions < 1 or pages < 1 or not (0.0 <= next_page <= 1.0 and 0.0 <= zipf <= 1.0):
        raise ValueError(
            f"{positions} positions, {pages} pages, next page {next_page}, Zipf parameter {zipf}: "
            "expected 1 or more of the first two, and numbers in [0, 1]"
        )
    rank = np.arange(pages)[None, :] * positions + np.arange(1, positions + 1)[:, None]
    popularity = rank ** (zipf - 1.0)
    return np.asarray(popularity / popularity.sum() * next_page ** np.arange(pages)[None, :])


def _probable(values: FloatArray) -> np.ndarray:
    return (values >= 0.0) & (values <= 1.0)
