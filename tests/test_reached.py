"""Every module of the product is reached by a command, by mitmproxy or by a study; what only papers reach lies with
them."""

import grimp

from bestbefore.addon.cli import COMMANDS

ROOTS = ("bestbefore.addon.start", "bestbefore.addon.entry.bestbefore_addon", "bestbefore.replay.api")
PAPERS = "bestbefore.replay.papers"

COMPARED = {"bestbefore.policies.models.rates.recent"}
"""Another estimate of rates, for comparison (docs/architecture.md)."""


def test_modules_that_no_command_reaches_lie_with_their_users():
    graph = grimp.build_graph("bestbefore.addon", "bestbefore.policies", "bestbefore.replay", cache_dir=None)
    commands = {name for one in COMMANDS.values() for name in (one.module, one.live_module) if name is not None}
    reached, left = set(), [*ROOTS, *commands]
    while left:
        module = left.pop()
        if module not in reached and not module.startswith(f"{PAPERS}."):
            reached.add(module)
            left += graph.find_modules_directly_imported_by(module)
    packages = {module.rpartition(".")[0] for module in graph.modules}
    others = {module for module in graph.modules - reached - packages if not module.startswith(PAPERS)}
    assert others == COMPARED
