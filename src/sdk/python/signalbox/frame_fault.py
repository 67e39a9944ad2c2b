"""Checks reports and events as the gateway does (PROTOCOL.md): one that it refuses would be sent again for ever."""

from __future__ import annotations

import re
import sys
from typing import Any, Callable, Dict, Optional, Tuple, Union

from .commands import is_number, length_of, one_of
from .frames import CANCEL_STATUSES, STATUSES, Frame

#: Longest texts of `native`, in UTF-16 units.
NATIVE_MAX = {"orderId": 128, "state": 128, "code": 128, "text": 8192}
REASON_CODES = frozenset(
    # Not sent.
    "ttl_expired no_active_terminal terminal_offline terminal_capability_missing account_frozen trading_halted "
    "key_revoked too_many_executions "
    # Payload.
    "unknown_command missing_field invalid_field unsupported_execution_type missing_limit_price invalid_quantity "
    "invalid_price unknown_instrument unknown_account "
    # Terminal.
    "trading_disabled terminal_not_connected_to_broker plugin_error "
    # Broker.
    "market_closed insufficient_funds price_changed no_quotes too_many_requests order_limit_reached "
    "volume_limit_reached broker_rejected "
    # End.
    "time_in_force_expired cancelled_by_api cancelled_by_operator cancel_after_expired cancelled_in_terminal "
    "cancelled_by_broker "
    # Ambiguous.
    "confirmation_timeout disconnected_after_send gateway_restarted "
    # Cancel.
    "already_filled already_cancelled order_unknown_at_terminal unable_to_cancel cancel_timeout "
    "terminal_lost_before_send".split())

_Check = Callable[[Any], bool]
#: Fields of an object, and the names of those that it must have.
_Shape = Tuple[Dict[str, Union[_Check, Any]], Tuple[str, ...]]

_TIME = re.compile(
    r"[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?"
    r"(Z|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII)


def _text(longest: float = float("inf"), shortest: int = 0) -> _Check:
    return lambda value: shortest <= length_of(value) <= longest


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, dict) for item in value)


_id = _text(128, 1)
_NATIVE: _Shape = ({
    "orderId": _id, "state": _text(128), "text": _text(NATIVE_MAX["text"]),
    "code": lambda value: _is_finite(value) or _text(128)(value)}, ())
_FILL: _Shape = ({
    "fillId": _id, "price": is_number, "quantity": lambda value: is_number(value) and value > 0,
    "filledAt": _is_time}, ("fillId", "price", "quantity", "filledAt"))
#: Fields of a report and of a cancel report.
_REPORTED: Dict[str, Any] = {"reasonCode": one_of(*REASON_CODES), "native": _NATIVE, "occurredAt": _is_time}


def _is_amount(value: Any) -> bool:
    return is_number(value) and value >= 0


#: Fields of the `data` of each event; others may be anything.
_DATA_TEXTS = {
    "command_result": "status reasonCode",
    "order_update": "orderId state instrument side executionType",
    "execution_update": "fillId orderId instrument side filledAt",
    "position_update": "instrument side",
    "cancel_update": "cancelRequestId status reasonCode",
    "account_update": "currency",
    "account_status": "status",
    "connection_status": "status",
    "source_status": "status",
    "state_snapshot": "snapshotId",
    "terminal_message": "text level reason",
}
_DATA_NUMBERS = {
    "order_update": "limitPrice quantity filledQuantity remainingQuantity averageFillPrice",
    "execution_update": "quantity price",
    "position_update": "quantity averagePrice marketPrice",
    "account_update": "balance equity realizedProfit unrealizedProfit",
    "state_snapshot": "ordersOmitted",
    "terminal_message": "dropped",
}
_DATA_OTHERS: Dict[str, Dict[str, _Check]] = {
    "account_status": dict.fromkeys(("tradingEnabled", "isSimulated"), lambda value: isinstance(value, bool)),
    "connection_status": {"isSimulated": lambda value: isinstance(value, bool)},
    "state_snapshot": {"account": _is_object, "positions": _is_list, "orders": _is_list},
}


def _or_none(check: _Check) -> _Check:
    return lambda value: value is None or check(value)


def _data_of(kind: str) -> _Shape:
    fields = {**dict.fromkeys(_DATA_TEXTS[kind].split(), _text()),
              **dict.fromkeys(_DATA_NUMBERS.get(kind, "").split(), _is_finite), **_DATA_OTHERS.get(kind, {})}
    return {name: _or_none(check) for name, check in fields.items()}, ()


_DATA = {kind: _data_of(kind) for kind in _DATA_TEXTS}
_FRAMES: Dict[str, _Shape] = {
    "report": ({
        **_REPORTED, "executionId": _id, "status": one_of(*STATUSES), "filledQuantity": _is_amount,
        "remainingQuantity": _is_amount, "averageFillPrice": is_number, "fill": _FILL}, ("executionId", "status")),
    "cancel_report": ({
        **_REPORTED, "cancelRequestId": _id, "status": one_of(*CANCEL_STATUSES)}, ("cancelRequestId", "status")),
    "event": ({
        "event": one_of(*_DATA), "occurredAt": _is_time, "data": _is_object, "rawText": _text(), "executionId": _id,
        "orderRef": _id}, ("event",)),
}


def fault_in(frame: Frame) -> Optional[str]:
    """The first field of a report or event that the gateway would refuse, such as `fill.price`; None if it takes it."""
    fault = _fault(frame, _FRAMES[frame["type"]])
    if fault is not None or frame["type"] != "event":
        return fault
    return _fault(frame.get("data", {}), _DATA[frame["event"]], "data")


def _fault(value: Any, shape: _Shape, path: str = "") -> Optional[str]:
    fields, needed = shape
    if not isinstance(value, dict):
        return path
    for name in [*needed, *fields]:
        inner = f"{path}.{name}" if path else name
        if name not in value:
            if name in needed:
                return inner
            continue
        check = fields[name]
        fault = _fault(value[name], check, inner) if isinstance(check, tuple) else None if check(value[name]) else inner
        if fault is not None:
            return fault
    return None
