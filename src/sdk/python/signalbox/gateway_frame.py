"""Parses frames of the gateway. One without a field that the plugin base reads is invalid."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, NoReturn, Optional, Union

from .frames import SEQ_MAX, Frame, date_time, finite, is_within, whole

_Check = Callable[[Any], bool]

#: The deepest payload that a gateway takes. A deeper one could be parsed, but not written to the journal.
_DEPTH_MAX = 128


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _seq(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= SEQ_MAX


def _positive(value: Any) -> bool:
    """Whether it is above zero: with a `heartbeatMs` of 0 the plugin would do nothing but send heartbeats."""
    return _seq(value) and 1 <= value < 2**31


def _time(value: Any) -> bool:
    """Whether it is a time with a zone: without one it would be read in the zone of this computer."""
    return isinstance(value, str) and date_time(value).tzinfo is not None


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _optional_queue(value: Any) -> bool:
    """None is valid: the welcome of an older gateway has no queue bounds."""
    return value is None or _object(value) and _positive(value.get("eventsMax")) and _positive(value.get("ageMs"))


_GATEWAY_FRAMES: Dict[str, Dict[str, _Check]] = {
    "welcome": {"connectionId": _text, "heartbeatMs": _positive, "serverTime": _time, "lastSeq": _seq,
                "outgoingQueue": _optional_queue},
    "submit": {"executionId": _text, "signalType": _text, "cmd": _text, "payload": _object, "expiresAt": _time},
    "cancel": {"cancelRequestId": _text, "executionId": _text},
    "snapshot": {"snapshotId": _text},
    "ack": {"seq": _seq},
    "error": {"code": _text},
}


def gateway_frame(text: Union[str, bytes]) -> Optional[Frame]:
    """The frame; None if it is invalid or of an unknown type."""
    if not isinstance(text, str):
        return None
    try:
        frame: Any = json.loads(text, parse_float=finite, parse_int=whole, parse_constant=_no_number)
        checks = _GATEWAY_FRAMES[frame["type"]]
        is_valid = all(is_right(frame.get(name)) for name, is_right in checks.items())
        return frame if is_valid and is_within(frame, _DEPTH_MAX) else None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _no_number(name: str) -> NoReturn:
    """Refuses `NaN` and `Infinity`, which Python reads: they are no JSON, and the journal cannot hold them."""
    raise ValueError(f"{name} is no JSON")
