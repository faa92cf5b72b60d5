"""`bestbefore multicast`: simulate a channel to subscribers and downloaders under several schedulers."""

import json
import math
from collections.abc import Sequence

import click

from bestbefore.addon.errors import InputError
from bestbefore.policies.units import DAY_S
from bestbefore.replay.commands.messages import say
from bestbefore.replay.commands.number_option import is_positive, number
from bestbefore.replay.commands.progress import in_order
from bestbefore.replay.commands.scenario_options import jobs_option
from bestbefore.replay.multicast.channel import Served
from bestbefore.replay.multicast.clients import HOT_SITES, ClientLaw
from bestbefore.replay.multicast.laws import LAWS
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.multicast.repository import SITES
from bestbefore.replay.multicast.runs import ChannelRun, as_json, mean_delay_days, served
from bestbefore.replay.multicast.schedulers import NAMES, check_name
from bestbefore.replay.multicast.seed_mean import SeedMean
from bestbefore.replay.report.formatting import aligned
from bestbefore.replay.sweeps.parallel import parallel_map

MOST_CHUNKS = 100_000
"""More than there are: with such a channel everything is sent daily."""
HEADS = (
    "scheduler", "freshness over clients", "over data", "age over clients, d", "over data, d", "delay, d", "unfinished",
)


def _skew(_ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[float, float]:
    """Parse shares in percent such as 80/5."""
    if value is None:
        return 0.0, HOT_SITES
    try:
        requests, sites = (float(part) / 100.0 for part in value.split("/"))
    except ValueError:
        requests = sites = math.nan
    if not (0.0 < requests <= 1.0 and 0.0 < sites <= 1.0):
        raise InputError(f"{param.opts[0]} {value}: expected two shares in percent, such as 80/5")
    return requests, sites


@click.command("multicast", short_help="Simulate a channel to subscribers.")
@click.option("--scheduler", "names", multiple=True, metavar="NAME",
              help=f"Scheduler that chooses the next chunk. Repeatable. Default: all. Names: {', '.join(NAMES)}.")
@click.option("--clients", type=click.IntRange(min=0), default=100, show_default=True, metavar="N",
              help="Number of subscribers, which have a copy of all they request from the start.")
@click.option("--downloaders", type=click.IntRange(min=0), default=0, show_default=True, metavar="N",
              help="Number of clients that wait from the start for one copy of what they request.")
@click.option("--sites-per-client", default="9", show_default=True, metavar="N",
              callback=number(f"a number above 0, at most {SITES:,}", lambda sites: 0.0 < sites <= SITES),
              help="Mean number of sites that a client requests, of 21,000 with 61 pages on average.")
@click.option("--skew", callback=_skew, metavar="PERCENT/PERCENT",
              help="Share of the requests and the share of the sites that they are for, such as 80/5 (default: none).")
@click.option("--empty-clients", is_flag=True,
              help="Allow clients without sites, with a freshness of 0 (default: at least one site each).")
@click.option("--law", type=click.Choice(list(LAWS)), default="A", show_default=True,
              help="Mean change intervals of pages: A 1 d + exponential of mean 107 d, B a tenth 2 d and others 83 d, "
              "fixed 75 d, uniform 1 to 149 d.")
@click.option("--slower", default="1", show_default=True, metavar="N",
              callback=number("a number above 0", is_positive),
              help="Number by which the mean change interval of each page is multiplied.")
@click.option("--bandwidth", "chunks_per_day", default="288", show_default=True, metavar="N",
              callback=number(f"a number of chunks per day above 0, at most {MOST_CHUNKS:,}",
                              lambda chunks: 0.0 < chunks <= MOST_CHUNKS),
              help="Number of chunks of 15 pages that the channel sends per day (288: one in five minutes).")
@click.option("--days", type=click.IntRange(min=1), default=75, show_default=True, metavar="N",
              help="Number of simulated days; freshness and age are averages over the last.")
@click.option("--requests-in", type=click.Choice(["pages", "clients"]), default="pages", show_default=True,
              help="What R of pop, rq, rxw and rxc counts: a client for each page that it needs, or once.")
@click.option("--queue-in", type=click.Choice(["chunks", "pages"]), default="chunks", show_default=True,
              help="What Q of rq counts of all that a client needs.")
@click.option("--ties", type=click.Choice(["first", "random"]), default="first", show_default=True,
              help="Which of equal scores is sent: what is waited for longest, or any.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="N",
              help="Number from which the instance is drawn: pages, their changes and clients, for all schedulers.")
@click.option("--seeds", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
              help="Number of instances, with consecutive seeds; from 2 on the table has 95 % intervals.")
@click.option("--json", "as_lines", is_flag=True,
              help="Print a JSON object for each scheduler and seed instead of a table.")
@jobs_option
def command(
    names: tuple[str, ...],
    clients: int,
    downloaders: int,
    sites_per_client: float,
    skew: tuple[float, float],
    law: str,
    slower: float,
    chunks_per_day: float,
    days: int,
    requests_in: str,
    queue_in: str,
    ties: str,
    seed: int,
    seeds: int,
    jobs: int,
    *,
    empty_clients: bool,
    as_lines: bool,
) -> None:
    """Simulate a channel on which one chunk of pages after the other is sent to all clients.

    Compare schedulers by the freshness and age of what subscribers have, and by the delay of downloaders. The
    repository is that of the paper: 21,000 sites with 85,680 chunks of 15 pages.

    \b
      bestbefore multicast --clients 1000 --seeds 5 --scheduler pop --scheduler rq
    """  # noqa: D301 - click keeps lines after a backspace
    chosen = list(dict.fromkeys(names or NAMES))
    try:
        for name in chosen:
            check_name(name)
    except ValueError as error:
        raise InputError(f"--scheduler: {error}") from None
    if not clients + downloaders:
        raise InputError("--clients 0 without --downloaders: expected at least one client")
    parameters = Parameters(
        clients, downloaders, law, slower, ClientLaw(sites_per_client, empty_clients, *skew), days, chunks_per_day,
        requests_in_pages=requests_in == "pages", queue_in_pages=queue_in == "pages", random_ties=ties == "random",
    )
    runs = [ChannelRun(name, parameters, one) for name in chosen for one in range(seed, seed + seeds)]
    results = in_order(parallel_map(served, runs, jobs), len(runs), "runs")
    if as_lines:
        for run, result in zip(runs, results, strict=True):
            click.echo(json.dumps(as_json(run, result)))
        return
    rows = [_row(name, results[place * seeds:(place + 1) * seeds], parameters) for place, name in enumerate(chosen)]
    click.echo("\n".join(aligned((HEADS, *rows), words=1)))
    if any(row[-1] not in ("0", "–") for row in rows):
        say("delays are of the downloaders that have all they asked for; the others are counted as unfinished")


def _row(name: str, results: Sequence[Served], parameters: Parameters) -> tuple[str, ...]:
    cells = ["–"] * 4
    if parameters.subscribers:
        last = [result.by_day[-1] for result in results]
        cells = [
            SeedMean.of([one.freshness_over_clients for one in last]).text(3),
            SeedMean.of([one.freshness_over_data for one in last]).text(3),
            SeedMean.of([one.age_over_clients_s / DAY_S for one in last]).text(2),
            SeedMean.of([one.age_over_data_s / DAY_S for one in last]).text(2),
        ]
    if not parameters.downloaders:
        return name, *cells, "–", "–"
    delays = [delay for result in results if (delay := mean_delay_days(result.delays_s)) is not None]
    unfinished = sum(parameters.downloaders - len(result.delays_s) for result in results)
    return name, *cells, SeedMean.of(delays).text(2) if delays else "–", f"{unfinished / len(results):g}"
