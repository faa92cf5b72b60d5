"""The runs of a simulation: one scheduler on one instance each, with their results."""

from collections.abc import Sequence
from dataclasses import dataclass

from bestbefore.policies.units import DAY_S
from bestbefore.replay.multicast.channel import Channel, Served
from bestbefore.replay.multicast.instance import Instance
from bestbefore.replay.multicast.parameters import Parameters
from bestbefore.replay.multicast.schedulers import made


@dataclass(frozen=True, slots=True)
class ChannelRun:
    """A run: a scheduler, the parameters, and the seed of the instance."""

    scheduler: str
    parameters: Parameters
    seed: int

    def served(self) -> Served:
        """Simulate it."""
        instance = Instance.draw(self.parameters, self.seed)
        scheduler = made(self.scheduler, instance, self.parameters)
        return Channel(instance, scheduler, DAY_S / self.parameters.chunks_per_day).run(self.parameters.days)


def served(run: ChannelRun) -> Served:
    """Simulate a run; a function of the module, which another process can call."""
    return run.served()


def mean_delay_days(delays_s: Sequence[float]) -> float | None:
    """The mean delay of the downloaders that have everything; None if none has."""
    return sum(delays_s) / len(delays_s) / DAY_S if delays_s else None


def as_json(run: ChannelRun, result: Served) -> dict[str, object]:
    """The result of a run for scripts; freshness and age are averages over the last day."""
    parameters, last = run.parameters, result.by_day[-1] if run.parameters.subscribers else None
    return {
        "scheduler": run.scheduler,
        "clients": parameters.subscribers,
        "downloaders": parameters.downloaders,
        "days": parameters.days,
        "seed": run.seed,
        "freshness_over_clients": last and last.freshness_over_clients,
        "freshness_over_data": last and last.freshness_over_data,
        "age_over_clients_s": last and last.age_over_clients_s,
        "age_over_data_s": last and last.age_over_data_s,
        "delay_days": mean_delay_days(result.delays_s),
        "unfinished": parameters.downloaders - len(result.delays_s),
        "chunks_sent": result.chunks_sent,
    }
