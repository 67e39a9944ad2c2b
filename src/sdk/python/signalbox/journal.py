"""
The durable memory of a plugin: commands, cancels, and reports that the gateway has not acknowledged. Owns the file
of one source; a lock keeps other processes out.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from dataclasses import dataclass, field
from typing import Any, ContextManager, Dict, List, Optional

from .frames import FINAL, CancelEvidence, Evidence, Fill, Frame, Source, Submit, line_of, unix_seconds


class JournalRefused(Exception):
    """The journal is in use, damaged, or cannot be written."""


@dataclass
class Execution:
    """A command of the journal."""

    submit: Submit
    #: The latest report, without its fill; None until the terminal has reported.
    state: Optional[Evidence] = None
    fills: List[Fill] = field(default_factory=list)
    #: Unix seconds of the latest change.
    at: float = 0.0

    @property
    def is_final(self) -> bool:
        return self.state is not None and self.state["status"] in FINAL


@dataclass
class Cancel:
    """A cancel of the journal."""

    executionId: str
    state: Optional[CancelEvidence] = None
    at: float = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the cancel has no outcome yet."""
        return self.state is None or self.state["status"] == "pending"


class Journal:
    """
    Commands, cancels, and reports that the gateway has not acknowledged: in memory, and in a file with one JSON
    object a line. Entries are written at once, so that they survive a kill, and durable after `sync`.
    """

    #: Longer than an operator can let a signal live, and so longer than a command may be redelivered.
    KEEP_SECONDS = 2 * 86400
    #: An unknown order may yet be carried out, as after a weekend: as long as the gateway takes reports on it.
    KEEP_UNKNOWN_SECONDS = 30 * 86400
    #: Above so many, executions that can no longer be redelivered are forgotten earlier.
    EXECUTIONS_MAX = 100_000
    COMPACT_AFTER = 20_000

    def __init__(self, directory: str, source: Source) -> None:
        self.executions: Dict[str, Execution] = {}
        self.cancels: Dict[str, Cancel] = {}
        #: Reports that are not acknowledged, in order: id of the report → [seq or None, frame].
        self.reports: Dict[int, List[Any]] = {}
        self.seq = 0
        self._report_id = 0
        self._lines = 0
        self._dirty = False
        self._broken: Optional[OSError] = None
        self._directory = directory
        name = hashlib.sha256(json.dumps(source).encode()).hexdigest()[:24]
        self._path = os.path.join(directory, f"{name}.journal")
        self._head = {"journal": 1, **source._asdict()}
        self._lock = self._file = -1
        try:
            os.makedirs(directory, 0o700, exist_ok=True)
            self._lock = _locked(f"{self._path}.lock")
            self._read()
            self._compact()
        except JournalRefused:
            self.close()
            raise
        except OSError as error:
            self.close()
            raise JournalRefused(f"The journal in {directory} cannot be used: {error}.") from error

    def note(self, kind: str, **fields: Any) -> None:
        """Applies an entry and writes it. If the disk does not take it, the next `sync` fails."""
        entry = {"kind": kind, "at": time.time(), **fields}
        line = line_of(entry)
        self._apply(entry)
        self._lines += 1
        self._dirty = True
        try:
            if self._broken is None:
                _write(self._file, line)
        except OSError as error:
            self._broken = error

    def note_report(self, frame: Frame, seq: Optional[int]) -> int:
        self.note("report", id=self._report_id + 1, seq=seq, frame=frame)
        return self._report_id

    def sync(self, lock: ContextManager[Any]) -> None:
        """
        Makes all entries durable. `lock`: the one under which `note` is called; `sync` holds it over a wait for the
        disk only while it replaces the file. OSError: some entries are not durable, and no later ones will be.
        """
        with lock:
            if self._broken is not None:
                raise self._broken
            if not self._dirty:
                return
            self._dirty = False
        try:
            os.fsync(self._file)
        except OSError as error:
            self._broken = error
            raise
        with lock:
            kept = len(self.executions) + len(self.cancels) + len(self.reports)
            if self._broken is None and self._lines > max(self.COMPACT_AFTER, 2 * kept):
                try:
                    self._compact()
                except OSError as error:
                    self._broken = error
                    raise

    def close(self) -> None:
        for file in (self._file, self._lock):
            if file != -1:
                os.close(file)

    def _apply(self, entry: Frame) -> None:
        kind, at = entry["kind"], entry["at"]
        if kind == "execution":
            record = Execution(**entry["execution"])
            self.executions[record.submit["executionId"]] = record
        elif kind == "cancel":
            self.cancels[entry["id"]] = Cancel(**entry["cancel"])
        elif kind == "report":
            self._report_id = max(self._report_id, entry["id"])
            self.reports[entry["id"]] = [entry["seq"], entry["frame"]]
            self.seq = max(self.seq, entry["seq"] or 0)
            self._apply_report(entry["frame"], at)
        elif kind == "number":
            if entry["id"] in self.reports:
                self.reports[entry["id"]][0] = entry["seq"]
            self.seq = max(self.seq, entry["seq"])
        elif kind == "acknowledged":
            for key, (seq, _) in list(self.reports.items()):
                if seq is None or seq > entry["seq"]:
                    break
                del self.reports[key]
            self.seq = max(self.seq, entry["seq"])

    def _apply_report(self, frame: Frame, at: float) -> None:
        state: Any = {name: value for name, value in frame.items()
                 if name not in ("type", "executionId", "cancelRequestId", "fill", "occurredAt")}
        if frame["type"] == "cancel_report":
            cancel = self.cancels.get(frame["cancelRequestId"])
            if cancel is not None:
                cancel.state, cancel.at = state, at
            return
        execution = self.executions.get(frame["executionId"])
        if execution is None:
            return
        execution.state, execution.at = state, at
        fill = frame.get("fill")
        if fill is not None and all(fill["fillId"] != known["fillId"] for known in execution.fills):
            execution.fills.append(fill)
        if execution.is_final:
            execution.submit = {**execution.submit, "payload": {}}

    def _read(self) -> None:
        if not os.path.exists(self._path):
            return
        with open(self._path, "rb") as file:
            lines = file.read().split(b"\n")[:-1]  # The text after the last newline is a torn write.
        for number, line in enumerate(lines):
            try:
                entry = json.loads(line)
                if number > 0:
                    self._apply(entry)
                elif entry != self._head:
                    raise ValueError("it is of another source")
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise JournalRefused(
                    f"The journal {self._path} is damaged in line {number + 1}. Without it a command could be executed "
                    "twice: check the orders at the broker, then move the file away and start again.") from error

    def _compact(self) -> None:
        """Forgets old entries, and replaces the file by one with the rest."""
        self._forget()
        # The acknowledged seq must be below the first kept report, which reading the file would drop otherwise.
        kept = next((seq for seq, _ in self.reports.values() if seq is not None), self.seq + 1)
        now = time.time()
        entries: List[Frame] = [self._head]
        entries += [{"kind": "execution", "at": now, "execution": vars(e)} for e in self.executions.values()]
        entries += [{"kind": "cancel", "at": now, "id": key, "cancel": vars(c)} for key, c in self.cancels.items()]
        entries += [{"kind": "acknowledged", "at": now, "seq": kept - 1}]
        entries += [{"kind": "report", "at": now, "id": key, "seq": seq, "frame": frame}
                    for key, (seq, frame) in self.reports.items()]
        draft = f"{self._path}.new"
        file = _open(draft, os.O_TRUNC)
        try:
            _write(file, b"".join(line_of(entry) for entry in entries))
            os.fsync(file)
        finally:
            os.close(file)
        if self._file != -1:
            os.close(self._file)  # Windows does not replace an open file.
            self._file = -1  # Another file may get the same number.
        os.replace(draft, self._path)
        _sync_directory(self._directory)
        self._file = _open(self._path, os.O_APPEND)
        self._lines, self._dirty = 0, False

    def _forget(self) -> None:
        now = time.time()
        waiting = {frame.get("executionId", frame.get("cancelRequestId")) for _, frame in self.reports.values()}
        excess = len(self.executions) - self.EXECUTIONS_MAX
        for key, execution in list(self.executions.items()):
            age = now - max(execution.at, unix_seconds(execution.submit["expiresAt"]))
            is_unknown = (execution.state or {}).get("status") == "unknown"
            keep = 3600 if excess > 0 else self.KEEP_UNKNOWN_SECONDS if is_unknown else self.KEEP_SECONDS
            if not execution.is_final or key in waiting or age < keep:
                continue
            del self.executions[key]
            excess -= 1
        for key, cancel in list(self.cancels.items()):
            is_needed = key in waiting or cancel.executionId in self.executions
            if not is_needed and now - cancel.at > self.KEEP_SECONDS:
                del self.cancels[key]


def _open(path: str, flag: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | flag | getattr(os, "O_BINARY", 0), 0o600)


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data):]


def _locked(path: str) -> int:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if sys.platform == "win32":
            import msvcrt
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise JournalRefused(
            f"The journal {path[:-5]} is in use by another plugin: stop that one, or use another directory.") from None
    return file


def _sync_directory(path: str) -> None:
    if sys.platform != "win32":  # Windows cannot sync a directory; there a rename is durable with the file.
        directory = os.open(path, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)
