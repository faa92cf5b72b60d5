"""The registration of plain Python functions and methods with numba, so that compiled code can call them.

A function is registered with all functions of these packages that it calls. A method of a named tuple is registered for
each class that has it; the class of the tuple selects the method when the caller is compiled. So no compiled named
tuple may have a field with the name of such a method.
"""

from collections.abc import Callable
from inspect import signature
from types import CodeType, FunctionType
from typing import Any

from numba import extending
from numba.core import types

_OURS = "bestbefore."
FEATURES = "features"
"""The name of the first parameter of functions that take features. They are inlined, since passing the fields of the
features to a function at each contact would cost more than a simple rule does."""
_INLINE = {"forceinline": True}

# Any, as versions of numba differ in their type annotations.
_overload_method: Any = extending.overload_method
_register_jitable: Any = extending.register_jitable
_made: set[FunctionType] = set()
_methods: dict[str, dict[type[Any], FunctionType]] = {}
"""The registered methods by name, then by class."""


def make_compilable(function: Callable[..., Any]) -> None:
    """Register a function of this package, and the functions that it calls, for compiled code."""
    assert isinstance(function, FunctionType)
    if function in _made or not function.__module__.startswith(_OURS):
        return
    _made.add(function)
    _make_callees_compilable(function)
    inline = next(iter(signature(function).parameters), "") == FEATURES
    _register_jitable(**_INLINE)(function) if inline else _register_jitable(function)


def leave_compilable(function: Callable[..., Any]) -> None:
    """Do not register a function that compiled code can call by other means."""
    assert isinstance(function, FunctionType)
    _made.add(function)


def make_methods_compilable(named: type[Any]) -> None:
    """Register all public methods that the class of a named tuple defines."""
    for name, method in vars(named).items():
        if isinstance(method, FunctionType) and method.__module__ == named.__module__ and not name.startswith("_"):
            make_method_compilable(named, name, method)


def make_method_compilable(named: type[Any], name: str, method: Callable[..., Any]) -> None:
    """Register a function as a method of this name of a named tuple."""
    assert isinstance(method, FunctionType)
    _make_callees_compilable(method)
    if name not in _methods:
        _methods[name] = {}
        _let_call(name, list(signature(method).parameters)[1:])
    _methods[name][named] = method


def _let_call(name: str, arguments: list[str]) -> None:
    def chosen(self: Any) -> FunctionType | None:
        return _methods[name].get(self.instance_class)

    # numba compares the names of arguments, so that *args cannot be used.
    choose = {
        0: lambda self: chosen(self),
        1: lambda self, a: chosen(self),  # noqa: ARG005
        2: lambda self, a, b: chosen(self),  # noqa: ARG005
        3: lambda self, a, b, c: chosen(self),  # noqa: ARG005
        4: lambda self, a, b, c, d: chosen(self),  # noqa: ARG005
    }[len(arguments)]
    for kind in (types.NamedTuple, types.NamedUniTuple):
        _overload_method(kind, name, strict=False, jit_options=_INLINE)(choose)


def _make_callees_compilable(function: FunctionType) -> None:
    for name in _names(function.__code__):
        called = function.__globals__.get(name)
        if isinstance(called, FunctionType):
            make_compilable(called)


def _names(code: CodeType) -> set[str]:
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)
