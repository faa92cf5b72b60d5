"""The least-cost choice of cuts of a line or of a circle, for costs with the Monge property.

A cut at node a followed by a cut at node b costs w(a, b). The Monge property is
w(a, b) + w(a', b') <= w(a, b') + w(a', b) for a <= a' < b <= b'; it implies that chains of cuts that cross can be
uncrossed at no cost.

Expected delays (`exact`) and the staleness between potential update times (`quasideterministic`) have the property.
"""

import numpy as np

from bestbefore.policies.units import FloatArray, IntArray


def line_cuts(cost: FloatArray, cuts: int) -> tuple[FloatArray, list[IntArray]]:
    """The least costs from node 0 to node N - 1 with 0, 1, ..., `cuts` <= N - 2 cuts between them, and these cuts.

    `cost` (N, N) is w(a, b) for a < b; the rest is not read. Costs O(cuts * N^2). With the Monge property the least
    costs are convex in the number of cuts.
    """
    last = cost.shape[0] - 1
    arriving = _arriving(cost)
    reached = arriving[:, 0]
    least, predecessors = [reached[-1]], []
    for _ in range(cuts):
        through = arriving + reached
        best = np.argmin(through, axis=1)
        reached = np.take_along_axis(through, best[:, None], axis=1)[:, 0]
        predecessors.append(best)
        least.append(reached[-1])
    return np.array(least), [_traced_back(predecessors[:k], last) for k in range(cuts + 1)]


def _arriving(cost: FloatArray) -> FloatArray:
    """The costs by (to, from), infinite unless `to` lies after `from`."""
    return np.where(np.tri(cost.shape[0], k=-1, dtype=np.bool_), cost.T, np.inf)


def _traced_back(predecessors: list[IntArray], last: int) -> IntArray:
    node, walked = last, []
    for best in reversed(predecessors):
        node = int(best[node])
        walked.append(node)
    return np.array(walked[::-1], dtype=np.intp)


def circle_cuts(cost: FloatArray, cuts: int) -> IntArray:
    """(cuts,) ascending nodes of the least-cost choice of `cuts` of the G nodes of a circle, 1 <= cuts <= G.

    `cost` (2G+1, 2G+1) is w(a, b) for a < b <= a + G on the circle unrolled twice; the rest is not read.

    The method is exact and has two steps. The first finds the best chain through node 0, a problem on a line; its cuts
    divide the circle into arcs. Any optimal chain can be uncrossed against this chain by exchanging tails, at no cost
    by the Monge property and with the same number of cuts, so some optimal chain has one cut in each arc. The second
    step searches only such chains, from each start in the shortest arc. Costs O(cuts * G^2) for the first step, less
    for the second.
    """
    nodes = cost.shape[0] // 2
    if cuts == 1:
        starts = np.arange(nodes)
        return np.array([np.argmin(cost[starts, starts + nodes])], dtype=np.intp)
    through_0 = np.concatenate(([0], line_cuts_at(cost[: nodes + 1, : nodes + 1], cuts - 1), [nodes]))
    shortest = int(np.argmin(np.diff(through_0)))
    arcs = np.concatenate((through_0[shortest:-1], through_0[: shortest + 1] + nodes))
    return np.sort(_interleaved(cost, arcs, nodes) % nodes)


def line_cuts_at(cost: FloatArray, cuts: int) -> IntArray:
    """(cuts,) the nodes of the least-cost choice of exactly `cuts` cuts between the first and last of N nodes.

    As `line_cuts` without the results for fewer cuts: the k-th cut is searched only where the others still fit.
    """
    last = cost.shape[0] - 1
    free = last - cuts
    arriving = _arriving(cost)
    reached = arriving[1 : free + 1, 0]
    # The k-th cut is at one of the nodes k .. k + free - 1: entry i of `reached` is node k + i.
    predecessors = []
    for k in range(1, cuts):
        through = arriving[k + 1 : k + 1 + free, k : k + free] + reached
        best = np.argmin(through, axis=1)
        reached = through[np.arange(free), best]
        predecessors.append(best)
    i = int(np.argmin(arriving[last, cuts : cuts + free] + reached))
    chosen = [cuts + i]
    for k in range(cuts - 1, 0, -1):
        i = int(predecessors[k - 1][i])
        chosen.append(k + i)
    return np.array(chosen[::-1], dtype=np.intp)


def _interleaved(cost: FloatArray, arcs: IntArray, nodes: int) -> IntArray:
    """The least-cost closed chain of one turn with its j-th cut in [arcs[j], arcs[j+1]]."""
    starts = np.arange(arcs[0], arcs[1] + 1)
    here = starts
    # reached[s, i]: the least cost from start s to node i of the current arc.
    reached = np.where(starts[:, None] == starts, 0.0, np.inf)
    predecessors = []
    for j in range(1, arcs.size - 1):
        there = np.arange(arcs[j], arcs[j + 1] + 1)
        step = np.where(here[:, None] < there, cost[here[0] : here[-1] + 1, there[0] : there[-1] + 1], np.inf)
        through = reached[:, None, :] + step.T
        best = np.argmin(through, axis=2)
        reached = np.take_along_axis(through, best[:, :, None], axis=2)[:, :, 0]
        predecessors.append((here, best))
        here = there
    closing = np.where(here < starts[:, None] + nodes, cost[here[None, :], starts[:, None] + nodes], np.inf)
    s, i = np.unravel_index(int(np.argmin(reached + closing)), closing.shape)
    chosen = [here[i]]
    for before, best in reversed(predecessors):
        i = best[s, i]
        chosen.append(before[i])
    return np.array(chosen[::-1], dtype=np.intp)
