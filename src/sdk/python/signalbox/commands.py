"""The catalog of commands (COMMANDS.md): why to reject one, and an id for terminals with short comments."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple

from .frames import Submit


class Fault(NamedTuple):
    """Why a command is rejected."""

    reasonCode: str
    text: str


#: Whether a field is right, and the reason code if it is not.
_Check = Tuple[Callable[[Any], bool], str]


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= 1e18


def length_of(value: Any) -> int:
    """The length in UTF-16 units, as the gateway counts; -1 if it is no text."""
    return len(value.encode("utf-16-le", "surrogatepass")) // 2 if isinstance(value, str) else -1


def one_of(*values: str) -> Callable[[Any], bool]:
    return lambda value: value in values if isinstance(value, str) else False


_INSTRUMENT: Dict[str, _Check] = {"instrument": (lambda v: 1 <= length_of(v) <= 64, "invalid_field")}
_ORDER: Dict[str, _Check] = {
    **_INSTRUMENT,
    "side": (one_of("buy", "sell"), "invalid_field"),
    "executionType": (one_of("market", "limit", "stop", "stop_limit"), "unsupported_execution_type"),
    "quantity": (lambda v: is_number(v) and v > 0, "invalid_quantity"),
    "limitPrice": (is_number, "invalid_price"),
    "stopPrice": (is_number, "invalid_price"),
    "timeInForce": (one_of("day", "gtc", "ioc", "fok"), "invalid_field"),
    "stopLoss": (is_number, "invalid_price"),
    "takeProfit": (is_number, "invalid_price"),
    "comment": (lambda v: 0 <= length_of(v) <= 64, "invalid_field"),
}
_COMMANDS = {"order/submit": _ORDER, "position/close": _INSTRUMENT, "account/flatten": {}}
_REQUIRED = ("instrument", "side", "executionType", "quantity")
_PRICES = {"market": (), "limit": ("limitPrice",), "stop": ("stopPrice",), "stop_limit": ("limitPrice", "stopPrice")}


def command_name(command: Submit) -> str:
    return f"{command['signalType']}/{command['cmd']}"


def fault_of(
    command: Submit, commands: Sequence[str] = tuple(_COMMANDS), without: Sequence[str] = ()
) -> Optional[Fault]:
    """
    The first reason to reject a command by the catalog, or None. `commands`: those that the terminal takes.
    `without`: fields of an order that it does not support. Unknown fields of a payload are rejected, too.
    """
    name, payload = command_name(command), command["payload"]
    if name not in _COMMANDS or name not in commands:
        return Fault("unknown_command", f"The terminal knows {', '.join(commands)}.")
    checks = _COMMANDS[name]
    for given in payload:
        if given not in checks or given in without:
            return Fault("invalid_field", f"The terminal does not take the field {given[:64]}.")
    for needed in _REQUIRED:
        if needed in checks and payload.get(needed) is None:
            return Fault("missing_field", f"The payload has no {needed}.")
    for given, value in payload.items():
        is_right, reason = checks[given]
        if not is_right(value):
            return Fault(reason, f"{given} cannot be {json.dumps(value)[:80]}.")
    kind = payload.get("executionType", "market")
    for price in ("limitPrice", "stopPrice"):
        if (price in _PRICES[kind]) == (price in payload):
            continue
        if price in payload:
            return Fault("invalid_field", f"A {kind} order has no {price}.")
        reason = "missing_limit_price" if price == "limitPrice" else "missing_field"
        return Fault(reason, f"The payload has no {price}.")
    return None


def short_id(execution_id: str) -> str:
    """An id for terminals with short comments: compute it again to find the order of an execution."""
    return hashlib.sha256(execution_id.encode()).hexdigest()[:16]
