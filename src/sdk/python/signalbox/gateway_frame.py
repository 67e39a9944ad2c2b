"""Parses and validates frames of the gateway. A frame without a required field is invalid."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, NoReturn, Optional, Union

from .frames import SEQ_MAX, Frame, date_time, finite, is_within, whole

_Check = Callable[[Any], bool]

#: As deep as a gateway takes a payload. What is nested deeper can be parsed, but not written to the journal.
_DEPTH_MAX = 128


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _seq(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= SEQ_MAX


def _positive(value: Any) -> bool:
    """Above zero: with a `heartbeatMs` of 0 the plugin would do nothing else."""
    return _seq(value) and 1 <= value < 2**31


def _time(value: Any) -> bool:
    """With a zone: without one it would be a time of this computer's."""
    return isinstance(value, str) and date_time(value).tzinfo is not None


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _optional_queue(value: Any) -> bool:
    """Absent in the welcome of an older gateway."""
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
    """None for one that is not valid or not known."""
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
    """Python reads `NaN` and `Infinity`, which are no JSON, and the journal cannot hold them."""
    raise ValueError(f"{name} is no JSON")
