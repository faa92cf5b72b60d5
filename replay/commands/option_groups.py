"""Groups of options that a command receives as one dataclass."""

from collections.abc import Callable
from functools import wraps

type Command = Callable[..., object]


def passed_as(record: type, name: str) -> Callable[[Command], Command]:
    """Make a decorator that passes the options named like the fields of `record` as one argument `name`."""

    def wrap(command: Command) -> Command:
        @wraps(command)
        def called(**values: object) -> object:
            given = {field: values.pop(field) for field in record.__annotations__}
            return command(**values, **{name: record(**given)})

        return called

    return wrap
