"""Pass plain values of a command line (words, defaults, absent options) without loading a converter for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["pass_plain_values"]


def pass_plain_values(command: Any) -> None:
    """Let the parameters of a command take absent values, words and defaults as they are.

    Newer versions of typer build a pydantic validator for every parameter of the called command, given or not, which
    takes a third of a short run. Values that must be converted or checked still go to typer; with older versions all
    values do.
    """
    parameters = command.get_params  # with the option for help, which it makes when it is asked

    def get_params(context: Any) -> list[Any]:
        found: list[Any] = parameters(context)
        for parameter in found:
            if hasattr(parameter, "type_descriptor") and "process_value" not in vars(parameter):
                parameter.process_value = _passing(parameter, parameter.process_value)
        return found

    command.get_params = get_params


def _passing(parameter: Any, convert: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    kind, told = parameter.type_descriptor.annotation, parameter.type_descriptor.parameter_info
    nothing = () if parameter.multiple or parameter.nargs == -1 else None

    def process_value(context: Any, value: Any) -> Any:
        if value is None and not parameter.required:
            value = nothing
        elif kind == list[str] and told.parser is None and {type(word) for word in value} == {str}:
            value = list(value)
        elif not (kind is str and told.parser is None and type(value) is str):
            number = kind in (int, float) and type(value) is kind
            if not (number and value == parameter.default):
                return convert(context, value)
        return value if parameter.callback is None else parameter.callback(context, parameter, value)

    return process_value
