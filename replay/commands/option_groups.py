"""Options that a command is given as one record."""

from collections.abc import Callable
from functools import wraps

type Command = Callable[..., object]


def passed_as(record: type, name: str) -> Callable[[Command], Command]:
    """Pass the options that are named as the fields of the record as one argument of this name."""

    def wrap(command: Command) -> Command:
        @wraps(command)
        def called(**values: object) -> object:
            given = {field: values.pop(field) for field in record.__annotations__}
            return command(**values, **{name: record(**given)})

        return called

    return wrap
