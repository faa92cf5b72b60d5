"""The option `--on`: the Dask cluster on which a command computes."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from bestbefore.replay.cluster.cluster import DaskCluster
from bestbefore.replay.cluster.errors import ClusterError
from bestbefore.replay.cluster.opening import join_cluster, start_cluster
from bestbefore.replay.commands.messages import say

on_option = click.option("--on", metavar="ADDRESS",
                         help="Compute on the Dask cluster with the scheduler at this address, such as "
                         "tcp://host:8786, in place of --jobs processes on this machine.")


@contextmanager
def opened_cluster(on: str | None, jobs: int) -> Iterator[DaskCluster]:
    """Yield the cluster at the address of --on, or one of `jobs` processes on this machine.

    A ClusterError, also of the work in the context, ends the command with its line.
    """
    try:
        with start_cluster(jobs, say) if on is None else join_cluster(on) as cluster:
            yield cluster
    except ClusterError as error:
        raise click.ClickException(str(error)) from None
