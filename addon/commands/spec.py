"""Policies of the configuration as a replay takes them."""

from bestbefore.addon.config.domain_sections import BOUNDS
from bestbefore.policies.models.history import DAY_S, HOUR_S
from bestbefore.policies.validation.bounds import Bounded
from bestbefore.policies.validation.spec import params

_DURATIONS = BOUNDS - {"fallback"} | {"window", "interval", "min", "max"}


def policy_shown(policy: Bounded) -> str:
    """As the SPEC that a replay takes."""
    shown_params = (f"{key}={_parameter_shown(key, value)}" for key, value in params(policy).items())
    return f"{policy.name}:{','.join(shown_params)}"


def _parameter_shown(key: str, value: float | str | list[str]) -> str:
    if isinstance(value, list):
        return "+".join(value) or "none"
    if isinstance(value, str):
        return value
    return duration_shown(value) if key in _DURATIONS else f"{value:.12g}"


def duration_shown(seconds: float) -> str:
    for unit, unit_s in (("d", DAY_S), ("h", HOUR_S), ("m", 60.0)):
        if seconds and seconds % unit_s == 0:
            return f"{seconds / unit_s:.0f}{unit}"
    return f"{seconds:.12g}s"
