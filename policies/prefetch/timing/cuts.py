"""The least-cost choice of cuts of a line or of a circle, for costs with the Monge property.

A cut at node a followed by one at node b costs w(a, b). With the Monge property,
w(a, b) + w(a', b') <= w(a, b') + w(a', b) for a <= a' < b <= b', chains that cross may be uncrossed at no loss.

Both expected delays (`exact`) and staleness between potential update times (`quasideterministic`) have it.
"""

import numpy as np

from bestbefore.policies.units import FloatArray, IntArray


def line_cuts(cost: FloatArray, cuts: int) -> tuple[FloatArray, list[IntArray]]:
    """Least costs from node 0 to the last of N nodes with 0, 1, ..., `cuts` <= N - 2 cuts between, and the cuts.

    `cost` (N, N): w(a, b) for a < b; the rest is not read. O(cuts * N^2). With the Monge property the least costs are
    convex in the number of cuts.
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
    return np.array(least), [_walked_back(predecessors[:k], last) for k in range(cuts + 1)]


def _arriving(cost: FloatArray) -> FloatArray:
    """Costs by (to, from), infinite unless the one lies after the other."""
    return np.where(np.tri(cost.shape[0], k=-1, dtype=np.bool_), cost.T, np.inf)


def _walked_back(predecessors: list[IntArray], last: int) -> IntArray:
    node, walked = last, []
    for best in reversed(predecessors):
        node = int(best[node])
        walked.append(node)
    return np.array(walked[::-1], dtype=np.intp)


def circle_cuts(cost: FloatArray, cuts: int) -> IntArray:
    """(cuts,) ascending nodes of the least-cost choice of `cuts` of the G nodes of a circle, 1 <= cuts <= G.

    `cost` (2G+1, 2G+1): w(a, b) for a < b <= a + G on the circle rolled out twice; the rest is not read.

    Exact in two steps. A chain that is optimal among those through node 0 is a line problem. Every optimal chain can
    be uncrossed against it: where it leaves an arc of the first chain early and comes back later, exchanging the tails
    at both places costs nothing by the Monge property and keeps the number of cuts. So there is an optimal chain with
    one cut in each arc, and the second step looks, for all starts in the shortest arc, only among those.
    O(cuts * G^2) for the first step, less for the second.
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

    As `line_cuts`, without the answers for fewer; the k-th cut needs only the nodes that leave room for the others.
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
    """The least-cost chain with its j-th cut in [arcs[j], arcs[j+1]], which returns to its start after a turn."""
    starts = np.arange(arcs[0], arcs[1] + 1)
    here = starts
    # reached[s, i]: from start s to node i of the present arc.
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
