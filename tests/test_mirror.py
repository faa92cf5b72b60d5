"""The folders of tests mirror those of the product, or say here why not."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent

VALUES = """
addon/admin/event addon/dashboard/source addon/engine/observation addon/engine/outcome addon/engine/site
addon/proxy/companion addon/proxy/place
addon/proxy/mitm/gateway addon/proxy/mitm/stream/client_connection addon/proxy/origin/contact addon/proxy/start_error
addon/store/backend/interface
addon/store/backend/keeper addon/store/backup/entries addon/store/contacts/keeper addon/store/sites/keeper
addon/store_status
replay/cluster/errors
replay/commands/scenario_options
replay/multicast/parameters replay/played/errors
replay/report/measure replay/simulate/history_source replay/sweeps/progress replay/traces/errors
"""
"""Records, protocols and errors without behaviour of their own."""

TESTED_BY = {
    "tests/addon/commands/test_run.py": "addon/commands/clients/running_proxy",
    "tests/addon/commands/test_store_options.py": "addon/commands/store_flags",
    "tests/addon/commands/upkeep/test_manual.py": "addon/commands/upkeep/roff",
    "tests/addon/commands/upkeep/test_doctor.py": (
        "addon/commands/upkeep/client_checks addon/commands/upkeep/finding addon/commands/upkeep/machine_checks"
        " addon/commands/upkeep/proxy_checks addon/commands/upkeep/store_check"
    ),
    "tests/addon/config/test_load.py": (
        "addon/config/hub_section addon/config/prefetch_section addon/config/problems"
        " addon/config/proxy_section"
    ),
    "tests/addon/proxy/mitm/test_hooks.py": "addon/proxy/mitm/upgrades",
    "tests/addon/proxy/mitm/test_layer.py": "addon/proxy/mitm/wait",
    "tests/addon/proxy/test_service.py": "addon/proxy/identity",
    "tests/addon/proxy/mitm/wire/test_hits.py": "addon/proxy/mitm/wire/written",
    "tests/contracts/test_keeper.py": "addon/store/backend/keeper_memory addon/store/backend/keeper_redis",
    "tests/equivalence/test_fast.py": (
        "replay/kernels/compiled replay/kernels/arrays/histories replay/kernels/observed replay/kernels/arrays/packed"
        " replay/kernels/walk"
    ),
    "tests/equivalence/test_fast_observed.py": "replay/kernels/known replay/kernels/siblings",
    "tests/addon/hub/test_publisher.py": "addon/hub/sender",
    "tests/live/workers/test_hub.py": (
        "addon/commands/hub addon/hub/companions addon/hub/edge addon/hub/hub"
        " addon/hub/wire/link"
    ),
    "tests/live/learning/test_signals.py": "addon/websub/subscriber",
    "tests/live/operation/test_dashboard.py": (
        "addon/dashboard/access addon/dashboard/actions addon/dashboard/application"
        " addon/dashboard/companion addon/dashboard/live addon/dashboard/pages/configuration"
        " addon/dashboard/pages/domains addon/dashboard/pages/feeds addon/dashboard/pages/objects"
        " addon/dashboard/pages/page"
        " addon/dashboard/pages/policies addon/dashboard/pages/requests addon/dashboard/pages/tunnels"
        " addon/dashboard/recent addon/reports/domains addon/reports/feeds"
        " addon/commands/clients/admin_pages addon/commands/upkeep/followed_proxy addon/commands/upkeep/top"
        " addon/dashboard/programs"
    ),
    "tests/live/clients/test_proxy.py": "addon/commands/proxy addon/entry/bestbefore_addon",
    "tests/live/workers/test_workers.py": (
        "addon/workers/forker addon/workers/source addon/workers/supervised addon/workers/supervisor"
        " addon/workers/worker"
    ),
    "tests/addon/commands/test_plan_live.py": "addon/reports/plan",
    "tests/addon/commands/test_show.py": "addon/reports/objects",
    "tests/replay/papers/adaptive/test_paper.py": (
        "replay/papers/adaptive/sections/bursty replay/papers/adaptive/sections/caches"
        " replay/papers/adaptive/sections/cyclic replay/papers/adaptive/sections/reasons"
        " replay/papers/adaptive/sections/summary"
    ),
    "tests/replay/papers/feeds/test_paper.py": (
        "replay/papers/feeds/crawlers replay/papers/feeds/hours replay/papers/feeds/online replay/papers/feeds/pollers"
        " replay/papers/feeds/population replay/papers/feeds/runs replay/papers/feeds/tables"
        " replay/papers/feeds/windows"
    ),
    "tests/replay/papers/multicast/test_paper.py": (
        "replay/papers/multicast/downloaders replay/papers/multicast/guidelines replay/papers/multicast/observations"
        " replay/papers/multicast/readings replay/papers/multicast/subscribers"
    ),
    "tests/replay/report/test_html.py": "replay/report/html_tables",
    "tests/replay/simulate/test_through_addon.py": "replay/played/cleanup",
    "tests/replay/traces/columns/test_files.py": "replay/traces/formats/npz replay/traces/formats/parquet",
}
"""What is tested with its only user, or on real processes."""

ABOUT_SEVERAL = """
tests/addon/config/test_documentation tests/addon/engine/test_learning_feeds tests/addon/feeds/test_against_feedparser
tests/addon/prefetcher/test_politeness_at_work tests/addon/proxy/exchange/test_siblings
tests/addon/proxy/exchange/test_without_validator
tests/addon/proxy/test_clock_jumps tests/addon/store/test_opening_earlier
tests/addon/store/test_records_in_parts tests/addon/store/test_set_aside tests/addon/store/test_skewed_clocks
tests/addon/test_limits_page
tests/policies/models/test_borrowing_on_traces
tests/replay/commands/test_replay_runs tests/replay/commands/test_replay_sweeps
tests/replay/papers/adaptive/test_on_traces
"""
"""Tests of more than one module."""


def files(*folders: str, pattern: str) -> list[Path]:
    return [path.relative_to(ROOT) for folder in folders for path in sorted((ROOT / folder).rglob(pattern))]


def test_each_module_has_a_test_of_its_name_or_a_reason() -> None:
    others = {*VALUES.split(), *(name for names in TESTED_BY.values() for name in names.split())}
    modules = [path for path in files("addon", "policies", "replay", pattern="*.py") if path.stem != "__init__"]
    bare = {
        str(path.with_suffix(""))
        for path in modules
        if not (ROOT / "tests" / path.parent / f"test_{path.name}").is_file()
    }
    assert sorted(bare - others) == []
    assert sorted(others - bare) == [], "these have a test of their own by now, or are no more"
    assert [test for test in TESTED_BY if not (ROOT / test).is_file()] == []


def test_each_test_has_the_module_that_it_names() -> None:
    tests = files("tests/addon", "tests/policies", "tests/replay", pattern="test_*.py")
    stray = {
        str(path.with_suffix(""))
        for path in tests
        if not (ROOT / path.relative_to("tests").with_name(path.name.removeprefix("test_"))).is_file()
    }
    assert sorted(stray) == sorted(ABOUT_SEVERAL.split())


def test_no_two_classes_share_a_name() -> None:
    names = Counter(
        name
        for path in files("addon", "policies", "replay", pattern="*.py")
        for name in re.findall(r"^class (\w+)", (ROOT / path).read_text("utf-8"), re.MULTILINE)
    )
    assert sorted(name for name, times in names.items() if times > 1 and not name.startswith("_")) == []


def test_no_folder_holds_more_than_sixteen_modules() -> None:
    held = Counter(
        path.parent for path in files("addon", "policies", "replay", pattern="*.py") if path.name != "__init__.py"
    )
    assert {str(folder): count for folder, count in held.items() if count > 16} == {}


def test_no_module_is_longer_than_four_hundred_lines() -> None:
    modules = files("addon", "policies", "replay", pattern="*.py")
    lengths = {str(path): len((ROOT / path).read_text("utf-8").splitlines()) for path in modules}
    assert {path: length for path, length in lengths.items() if length > 400} == {}
