import numpy as np
import pytest

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.papers.adaptive.sections.mailboxes import write
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page
from bestbefore.replay.simulate.refresh import RefreshScenario, refresh_objects
from bestbefore.replay.traces.columns.columns import Updates


def arrivals(mailboxes: int) -> Updates:
    """Messages every half an hour for ten days, in each mailbox some seconds later than in the one before."""
    times = [np.arange(480) * 1800.0 + 7.0 * place for place in range(mailboxes)]
    ids = [np.full(480, place, np.int32) for place in range(mailboxes)]
    names = tuple(f"box/{place}" for place in range(mailboxes))
    return Updates.of(np.concatenate([*times, []]), np.concatenate([*ids, np.empty(0, np.int32)]), names)


@pytest.mark.slow
def test_each_mailbox_is_refreshed_by_itself() -> None:
    page = Page("adaptive", "made")
    write(Work(None, print), page, arrivals(2))
    scenario = RefreshScenario.of(arrivals(1), warn=lambda _: None)
    counts = refresh_objects(scenario, parse_spec("indhist:theta=0.5"), 1.0)["box/0"]
    per_refresh = (counts.updates - counts.unfetched) / counts.refreshes
    assert f"| 0.5 | 0.493 | {per_refresh:.3f} | " in page.markdown
    # Two messages an hour, half an update expected each quarter of an hour: as many as expected, nearly.
    assert per_refresh == pytest.approx(0.5, abs=0.02)


@pytest.mark.slow
def test_both_findings_are_looked_for() -> None:
    table_2, figure_6 = write(Work(None, print), Page("adaptive", "made"), arrivals(2))
    assert (table_2.where, figure_6.where) == ("Table 2", "Figure 6")
    assert {table_2.verdict, figure_6.verdict} <= {"yes", "partly", "no"}


def test_without_messages_there_are_no_findings() -> None:
    claims = write(Work(None, print), Page("adaptive", "made"), arrivals(0))
    assert [claim.verdict for claim in claims] == ["–", "–"]
