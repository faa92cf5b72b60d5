import numpy as np
from numpy.testing import assert_allclose

from bestbefore.policies.prefetch.allocation.cubics import CHUNK, Cubics, Scratch, chunks


def test_chunks_cover_everything_once() -> None:
    assert [(part.start, part.stop) for part in chunks(2 * CHUNK + 1)] == [
        (0, CHUNK), (CHUNK, 2 * CHUNK), (2 * CHUNK, 2 * CHUNK + 1)
    ]
    assert list(chunks(0)) == []


def test_a_cubic_is_exact_with_one_cell() -> None:
    table = Cubics(lambda x: 2 * x**3 - x + 5, -1.0, 3.0, 1)
    x, out = np.linspace(-1, 3, 9), np.empty(9)
    table.at(x, out, Scratch())
    assert_allclose(out, 2 * x**3 - x + 5, rtol=1e-13)


def test_beyond_an_end_is_the_value_at_that_end() -> None:
    table = Cubics(np.exp, 0.0, 1.0, 64)
    out = np.empty(4)
    table.at(np.array([-7.0, 0.0, 1.0, np.inf]), out, Scratch())
    assert_allclose(out, [1.0, 1.0, np.e, np.e], rtol=1e-9)


def test_the_error_falls_with_the_fourth_power_of_the_cells() -> None:
    x, out = np.linspace(0, 3, 1000), np.empty(1000)
    errors = []
    for cells in (8, 16):
        Cubics(np.sin, 0.0, 3.0, cells).at(x, out, Scratch())
        errors.append(float(np.abs(out - np.sin(x)).max()))
    assert 12 < errors[0] / errors[1] < 20
