"""Shapes and words of the plugin protocol, version 1 (PROTOCOL.md): the names are those of its frames."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from typing import Any, Dict, Mapping, NamedTuple, Optional, TypedDict, Union

Frame = Dict[str, Any]


class Source(NamedTuple):
    """A connection serves one source; `platform` is a token of the gateway's configuration."""

    platform: str
    instanceId: str
    accountName: str


class _Order(TypedDict, total=False):
    orderRef: str


class Submit(_Order):
    """A command of the gateway, as it came. `orderRef` is there for orders."""

    type: str
    executionId: str
    requestId: str
    signalId: str
    signalType: str
    cmd: str
    ts: int
    expiresAt: str
    payload: Dict[str, Any]


class Fill(TypedDict):
    fillId: str
    price: float
    quantity: float
    filledAt: str


class Native(TypedDict, total=False):
    """The order as the terminal shows it."""

    orderId: str
    state: str
    code: Union[str, int]
    text: str


class CancelEvidence(TypedDict, total=False):
    """A report on a cancel; `status` is required. A value of None is left out."""

    status: str
    reasonCode: Optional[str]
    native: Optional[Native]


class Evidence(CancelEvidence, total=False):
    """A report on an execution; `status` is required."""

    filledQuantity: Optional[float]
    remainingQuantity: Optional[float]
    averageFillPrice: Optional[float]
    fill: Optional[Fill]


FINAL = frozenset(("filled", "completed", "cancelled", "rejected", "expired", "unknown"))
STATUSES = FINAL | {"submitted", "working", "partially_filled"}
CANCEL_STATUSES = frozenset(("pending", "cancelled", "rejected", "too_late", "unknown"))
FRAME_BYTES_MAX = 131072
#: Levels of nesting in a frame that the gateway takes.
FRAME_DEPTH_MAX = 64
#: The gateway takes no `seq` above it.
SEQ_MAX = 2**53 - 1


def line_of(frame: Mapping[str, Any]) -> bytes:
    """The frame as a line of JSON. ValueError: a number is not finite."""
    return json.dumps(frame, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def is_within(value: Any, depth: int) -> bool:
    """Whether the value is nested at most so deep; an object or list is the first level of itself."""
    if not isinstance(value, (dict, list, tuple)):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return depth > 0 and all(is_within(each, depth - 1) for each in inner)


def finite(number: str) -> float:
    """Turns a number beyond any float into the largest float, which is above every limit and can be written."""
    return max(-sys.float_info.max, min(sys.float_info.max, float(number)))


def whole(number: str) -> float:
    """Python reads no integer of more than 4300 digits."""
    return int(number) if len(number) < 300 else finite(number)


def given(fields: Mapping[str, Any]) -> Frame:
    """Leaves out fields without a value: no field of a frame is null."""
    return {name: value for name, value in fields.items() if value is not None}


def utc_now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def date_time(iso_time: str) -> datetime:
    return datetime.fromisoformat(iso_time.replace("Z", "+00:00"))


def unix_seconds(iso_time: str) -> float:
    return date_time(iso_time).timestamp()


def event_frame(kind: str, data: Mapping[str, Any], **links: Optional[str]) -> Frame:
    return {"type": "event", "event": kind, "data": dict(data), "occurredAt": utc_now(), **given(links)}
