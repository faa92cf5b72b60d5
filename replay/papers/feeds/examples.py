"""Examples 1 and 2, and theorem 3, with the functions of the live planner."""

import math

import numpy as np

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.prefetch.timing.exact import points_on_grid, retrieval_points
from bestbefore.policies.prefetch.timing.points import Intensity, delay_slopes, expected_delay, grid_h, uniform_points
from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.feeds.point_search import exhaustive_points, refined_points
from bestbefore.replay.report.page import Page

EXAMPLE_1 = Intensity.of((0.0, 1.0, 2.0), (1.0, 0.0))
STEPS = 240
"""The number of constant pieces for the curve of example 2, each with its mean rate."""
RETRIEVALS = 6


def example_2() -> Intensity:
    """The intensity 2 + 2 sin(2 pi t) with period 1."""
    edges = np.linspace(0.0, 1.0, STEPS + 1)
    return Intensity.of(edges, np.maximum(2.0 - np.diff(np.cos(2 * math.pi * edges)) / math.pi * STEPS, 0.0))


def areas(intensity: Intensity, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(m,), (m,) the two sides of equation 2: lambda(tau_j) (tau_(j+1) - tau_j), and the mass since tau_(j-1).

    Where lambda jumps at a point, the one-sided limit of lambda with the smaller difference is taken.
    """
    before, after = delay_slopes(intensity, points)
    mass = intensity.mass_to(points)
    arrived = np.diff(mass, prepend=mass[-1] - intensity.mass[-1])
    return arrived - np.where(np.abs(before) < np.abs(after), before, after), arrived


def write(page: Page) -> None:
    """Write the section on the examples."""
    page.section("Examples 1 and 2, theorem 3")
    best = retrieval_points(EXAMPLE_1, 1)
    nearest, farthest = (float(expected_delay(EXAMPLE_1, [point])) for point in (float(best[0]), 0.0))
    page.table(
        ("example 1: lambda = 1 in [0, 1], then 0 until 2", "printed", "ours"),
        (
            ("best retrieval", "1", f"{best[0]:g}"),
            ("total delay there", "1/2", f"{nearest:g}"),
            ("total delay at 0, the worst", "3/2", f"{farthest:g}"),
            ("factor", "3", f"{farthest / nearest:g}"),
        ),
    )
    curve = example_2()
    points = retrieval_points(curve, RETRIEVALS)
    left, right = areas(curve, points)
    page.text(
        f"""Example 2, six retrievals of a feed with lambda(t) = 2 + 2 sin(2 pi t), prints no number but that the two
        areas of equation 2, lambda(tau_j) (tau_(j+1) - tau_j) and the postings since tau_(j-1), are equal at each best
        point. Ours, for the curve in {STEPS} steps; where it falls, a best point may lie on a step, and equation 2
        holds for a rate between those on its two sides:"""
    )
    page.table(
        ("point", "tau", "area ahead", "area behind"),
        [
            (str(j + 1), f"{tau:.4f}", f"{ahead:.4f}", f"{behind:.4f}")
            for j, (tau, ahead, behind) in enumerate(zip(points, left, right, strict=True))
        ],
    )
    t = np.linspace(0.0, 1.0, 101)
    rates = 2.0 + 2.0 * np.sin(2 * math.pi * t)
    marks = [(float(tau), 2.0 + 2.0 * math.sin(2 * math.pi * tau)) for tau in points]
    page.figure("figure_5", "Figure 5: the best six retrievals", drawn(
        [Line("lambda(t)", list(zip(t.tolist(), rates.tolist(), strict=True))),
         Line("retrievals", marks, joined=False, marked=True)],
        Scale("t, in periods"), Scale("postings per period")))
    grid = grid_h(curve, RETRIEVALS, 1 / 48)
    page.text("The expected delay of a posting of example 2, in periods, by the methods of the paper and by ours:")
    methods = {
        "uniform": uniform_points(1.0, RETRIEVALS),
        "exhaustive search (paper)": exhaustive_points(curve, RETRIEVALS, grid),
        "iterative refinement (paper)": refined_points(curve, RETRIEVALS, grid),
        "dynamic programming, same grid": points_on_grid(curve, RETRIEVALS, grid),
        "the same, polished": points,
    }
    delays = {name: float(expected_delay(curve, found)) / curve.mass[-1] for name, found in methods.items()}
    least = delays["the same, polished"]
    page.table(
        ("method", "mean delay", "above the least"),
        [(name, f"{delay:.5f}", f"{100 * (delay / least - 1):.2f} %") for name, delay in delays.items()],
    )
