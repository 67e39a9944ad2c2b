"""The outgoing queue of a plugin: frames with a `seq`, until the gateway acknowledges them."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Deque, List, Mapping, Optional

from .frames import Frame, event_frame
from .journal import Journal


@dataclass
class _Item:
    frame: Frame
    seq: Optional[int]
    #: A report's id in the journal.
    report_id: Optional[int] = None
    #: When an event arrived, in monotonic seconds. None for reports and notices of losses, which are never dropped.
    born: Optional[float] = None


class Outgoing:
    """
    Frames with a `seq`, in order, until they are acknowledged: reports, which the journal has, and events, in
    memory within bounds. Frames get numbers only while connected, so that each is above the gateway's `lastSeq`.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._seq = journal.seq
        self._items: Deque[_Item] = deque(_Item(f, seq, key) for key, (seq, f) in journal.reports.items())
        self._unsent: List[_Item] = []
        self._is_open = False
        self._events = 0
        self._bounds = {"eventsMax": 2000, "ageMs": 600_000}
        self._dropped = {"queue_full": 0, "too_old": 0}

    def open(self, last_seq: int, bounds: Mapping[str, int]) -> None:
        """Called after a welcome: sends again every frame that the gateway does not have."""
        self._bounds.update(bounds)
        self._seq = max(self._seq, last_seq)
        self.acknowledge(last_seq)
        oldest = time.monotonic() - self._bounds["ageMs"] / 1000
        fresh = [item for item in self._items if item.born is None or item.born >= oldest]
        too_old = len(self._items) - len(fresh)
        self._events -= too_old
        self._dropped["too_old"] += too_old
        numbered = sum(1 for item in fresh if item.seq is not None)
        tells = [_Item(event_frame("terminal_message", {"dropped": count, "reason": reason}), None)
                 for reason, count in self._dropped.items() if count > 0]
        self._dropped = dict.fromkeys(self._dropped, 0)
        self._items = deque(fresh[:numbered] + tells + fresh[numbered:])
        for item in self._items:
            if item.seq is None:
                item.seq = self._next_seq()
                if item.report_id is not None:
                    self._journal.note("number", id=item.report_id, seq=item.seq)
        self._unsent = list(self._items)
        self._is_open = True

    def close(self) -> None:
        self._is_open, self._unsent = False, []

    def add_report(self, frame: Frame) -> None:
        seq = self._next_seq() if self._is_open else None
        self._add(_Item(frame, seq, self._journal.note_report(frame, seq)))

    def add_event(self, frame: Frame) -> bool:
        """Returns False if the event is dropped, because too many events wait for an acknowledgement."""
        if self._events >= self._bounds["eventsMax"]:
            self._dropped["queue_full"] += 1
            if self._is_open:
                return False
            oldest = next((item for item in self._items if item.born is not None and item.seq is None), None)
            if oldest is None:
                return False
            self._items.remove(oldest)
            self._events -= 1
        self._events += 1
        self._add(_Item(frame, self._next_seq() if self._is_open else None, born=time.monotonic()))
        return True

    def take(self) -> List[Frame]:
        """The frames to send now."""
        frames = [{**item.frame, "seq": item.seq} for item in self._unsent]
        self._unsent = []
        return frames

    def acknowledge(self, seq: int) -> None:
        """Ignores a `seq` that was never sent: reports up to it would be lost, and later numbers too low."""
        if seq > self._seq:
            return
        is_journaled = False
        while self._items and self._items[0].seq is not None and self._items[0].seq <= seq:
            item = self._items.popleft()
            is_journaled |= item.report_id is not None
            self._events -= item.born is not None
        if is_journaled:
            self._journal.note("acknowledged", seq=seq)

    def _add(self, item: _Item) -> None:
        self._items.append(item)
        if self._is_open:
            self._unsent.append(item)

    def _next_seq(self) -> int:
        self._seq += 1
        return self._seq
