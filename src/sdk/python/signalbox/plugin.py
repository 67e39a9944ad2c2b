"""
The base of a plugin for a trading terminal: derive from `Plugin`, write functions that trade, call `run`.

Speaks version 1 of the plugin protocol (PROTOCOL.md) and does what every plugin needs: stores each command
durably before it acknowledges it, hands it over once, keeps each report until the gateway has it, and reconnects.
Owns the journal, from its creation until `run` returns. Needs Python 3.9 and `websockets` 10.4 or later.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Coroutine, Dict, List, Mapping, Optional, Tuple, Union

import websockets
from websockets.exceptions import ConnectionClosed, InvalidHandshake, WebSocketException

from .commands import Fault, command_name, fault_of, length_of, short_id
from .frame_fault import NATIVE_MAX, fault_in
from .frames import (FRAME_BYTES_MAX, FRAME_DEPTH_MAX, SEQ_MAX, CancelEvidence, Evidence, Fill, Frame, Native, Source,
                     Submit, event_frame, given, is_within, line_of, unix_seconds, utc_now)
from .gateway_frame import gateway_frame
from .journal import Execution, Journal, JournalRefused
from .login import LoginRefused, log_in
from .outgoing import Outgoing

__all__ = ["EXECUTE", "CancelEvidence", "Evidence", "Execution", "Fault", "Fill", "JournalRefused", "LoginRefused",
           "Native", "Plugin", "Refused", "Source", "Submit", "command_name", "fault_of", "log_in", "short_id",
           "utc_now"]

#: Answer of `in_doubt` if the broker certainly does not have the order.
EXECUTE = "execute"


class Refused(Exception):
    """The plugin has stopped and must not reconnect by itself. `reason` is a code, the message is for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


_REFUSALS = {
    4501: ("replaced", "Another plugin has connected with the same platform, instance and account."),
    4502: ("bad_protocol", "The gateway rejects the frames of this plugin: its platform or account name may be wrong."),
    4503: ("session_revoked", "The session has expired or was revoked: log in again."),
    4504: ("too_many_sources", "The user has too many active terminals: stop one and wait two minutes."),
}
_HELLO_LATE = "the gateway got no hello within 5 s: the line to it is slow, or this computer paused"
_SESSION_REFUSED = ("session_refused", "The gateway refuses the session token (401): log in again.")
_DELAYS = (1.0, 2.0, 5.0, 10.0)
_WELCOME_SECONDS = 15
#: Heartbeat intervals without a frame or pong from the gateway after which the connection is closed.
_SILENT_BEATS_MAX = 2
#: The parameter for the headers of the handshake, by the library's version.
_HEADERS = next(name for name in ("additional_headers", "extra_headers")
                if name in inspect.signature(websockets.connect).parameters)
#: A clock that goes on while the computer sleeps. Windows has none of these, and its `monotonic` goes on.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def _elapsed() -> float:
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


class _Connect(websockets.connect):  # type: ignore[misc]
    """Follows no redirect, which could send the session token to any host."""

    def handle_redirect(self, uri: str) -> None:  # Called by `websockets` before 14.2.
        raise InvalidHandshake(f"the answer is a redirect to {uri}")

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


async def _within(seconds: int, work: Coroutine[Any, Any, Any]) -> Any:
    """
    Waits second by second. A pause of the process, after which timers are late and the socket is not read yet,
    counts as only one of them.
    """
    task = asyncio.ensure_future(work)
    try:
        for _ in range(seconds):
            done, _pending = await asyncio.wait((task,), timeout=1)
            if done:
                return task.result()
    finally:
        task.cancel()
    raise asyncio.TimeoutError("the gateway did not send welcome in time")


def _assert_taken(frame: Frame) -> None:
    if not is_within(frame, FRAME_DEPTH_MAX):
        raise _refused(frame, "it is nested too deeply")
    field = fault_in(frame)
    if field is not None:
        raise _refused(frame, f"its {field} is missing or not valid")


def _is_too_large(frame: Frame) -> bool:
    """Whether the frame is too large, with the longest number that it may get."""
    return len(line_of({**frame, "occurredAt": utc_now(), "seq": SEQ_MAX})) > FRAME_BYTES_MAX


def _refused(frame: Frame, why: str) -> ValueError:
    return ValueError(f"The gateway would refuse this {frame['type']}: {why}.")


def _cut(value: Any, units: int) -> Any:
    """Cuts a text to so many UTF-16 units, as the gateway counts."""
    if not isinstance(value, str) or length_of(value) <= units:
        return value
    return value.encode("utf-16-le", "surrogatepass")[:2 * units].decode("utf-16-le", "ignore")


def _retry_after(headers: Any) -> float:
    """Seconds of Retry-After; 0 if the header is missing or there twice."""
    try:
        text = headers.get("Retry-After", "")
    except LookupError:
        return 0.0
    return min(3600.0, float(text)) if text.isdecimal() else 0.0


class Plugin:
    """
    Override what your terminal does; call `report`, `cancel_report` and `event` from any thread, at any time.
    The methods from `submit` to `poll` are called on one thread of their own, one after another, so that a broker's
    call may take its time, and a broker's library that is bound to a thread works.
    """

    #: Seconds between two calls of `poll`.
    poll_seconds = 1.0

    def __init__(self, url: str, token: Callable[[], str], source: Source, journal_dir: str,
                 software: Tuple[str, str] = ("signalbox-python", "1")) -> None:
        """`token` returns the session token of `log_in`; it is called at each attempt to connect."""
        base = url.rstrip("/").replace("http", "ws", 1) if url.startswith("http") else url.rstrip("/")
        self._url = base if base.endswith("/plugin/v1") else f"{base}/plugin/v1"
        self._token, self._source, self._software = token, source, software
        self._journal = Journal(journal_dir, source)
        self._outgoing = Outgoing(self._journal)
        #: Guards the journal, the outgoing queue and the work that waits for the next flush.
        self._lock = threading.RLock()
        self._terminal = ThreadPoolExecutor(1, "terminal")
        self._after_flush: List[Callable[[], Any]] = []
        self._plain: List[Frame] = []  # Frames without a seq.
        self._socket: Any = None
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._ended = False
        self._is_stopped = False
        self._resumed = False
        self._had_error = False  # On this connection.
        #: The gateway's clock, in Unix seconds by the latest welcome, less `_elapsed`.
        self._clock_offset = time.time() - _elapsed()

    def notice(self, kind: str, **details: Any) -> None:
        """Tells the operator what happened. Called from any thread; must not block."""
        print(json.dumps({"notice": kind, **details}), file=sys.stderr, flush=True)

    def submit(self, command: Submit) -> None:
        """Executes a command that is stored. Called once per executionId. Report its results."""
        raise NotImplementedError

    def cancel(self, cancel_request_id: str, execution_id: str) -> None:
        """Cancels an order of the journal. Once per id; after a restart again, if no outcome was reported."""
        self.cancel_report(cancel_request_id, {"status": "rejected", "reasonCode": "unable_to_cancel"})

    def in_doubt(self, command: Submit) -> Union[Evidence, str, None]:
        """
        Called after a restart for a command on which an earlier process has not reported: it may have reached the
        broker. Ask the broker. Returns what to report; EXECUTE if the broker certainly does not have it; None if a
        report will follow.
        """
        return {"status": "unknown", "native": {"text": "The plugin ended while it executed this: look at the broker."}}

    def restore(self, executions: Mapping[str, Execution]) -> None:
        """Called first, with the executions on which an earlier process has reported."""

    def snapshot(self) -> Mapping[str, Any]:
        """What the terminal holds now: `account`, `positions` and `orders`."""
        raise NotImplementedError

    def connected(self) -> None:
        """Called after each welcome: the place for events that tell the whole state."""

    def poll(self) -> None:
        """Called every `poll_seconds`, for terminals that have to be asked what happened."""

    def execution(self, execution_id: str) -> Optional[Execution]:
        with self._lock:
            return self._journal.executions.get(execution_id)

    def report(self, execution_id: str, evidence: Evidence) -> None:
        """Stores a report. ValueError: the gateway would refuse it, so it is not stored; the message says why."""
        if execution_id not in self._journal.executions:
            raise ValueError(f"{execution_id} was not submitted")
        self._report({"type": "report", "executionId": execution_id}, evidence)

    def cancel_report(self, cancel_request_id: str, evidence: CancelEvidence) -> None:
        self._report({"type": "cancel_report", "cancelRequestId": cancel_request_id}, evidence)

    def event(self, kind: str, data: Mapping[str, Any], **links: Optional[str]) -> bool:
        """
        `links`: rawText, executionId, orderRef. Returns False if the event is dropped: larger than a frame, or too
        many wait. ValueError: the gateway would refuse it.
        """
        frame = event_frame(kind, data, **links)
        _assert_taken(frame)
        if _is_too_large(frame):
            return False
        with self._lock:
            is_kept = not self._ended and self._outgoing.add_event(frame)
        self._wake_up()
        return is_kept

    def run(self) -> None:
        """Serves until `stop`. Raises Refused where a reconnect is forbidden or the journal cannot be written."""
        try:
            asyncio.run(self._main())
        finally:
            self._ended = True
            self._terminal.shutdown(wait=True)
            self._journal.close()

    def stop(self) -> None:
        """Ends `run`. May be called from any thread and from a signal handler, also before `run`."""
        self._is_stopped = True
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._stopping.set)

    def _report(self, head: Frame, evidence: Mapping[str, Any]) -> None:
        fields = given(evidence)
        if isinstance(fields.get("native"), dict):
            fields["native"] = {name: _cut(value, NATIVE_MAX[name]) if name in NATIVE_MAX else value
                                for name, value in given(fields["native"]).items()}
        frame = {**head, **fields}
        _assert_taken(frame)
        if _is_too_large(frame):
            raise _refused(frame, f"it has more than {FRAME_BYTES_MAX} bytes")
        self._add(frame)

    def _add(self, frame: Frame) -> None:
        with self._lock:
            if self._ended:
                return  # The journal is closed: the command is in doubt at the next start.
            self._outgoing.add_report({**frame, "occurredAt": utc_now()})
        self._wake_up()

    # What follows runs on the thread of `run`.

    async def _main(self) -> None:
        # The loop last: a signal that stops the plugin uses the others once there is a loop.
        self._wake, self._stopping, self._loop = asyncio.Event(), asyncio.Event(), asyncio.get_running_loop()
        if self._is_stopped:
            self._stopping.set()
        reported = {key: e for key, e in self._journal.executions.items() if e.state is not None}
        self._hand_over("restore", lambda: self.restore(reported))
        works = [self._flush_forever(), self._connect_forever(), self._poll_forever(), self._stopping.wait()]
        tasks = [asyncio.ensure_future(work) for work in works]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            pending = set(tasks)
            while pending:  # Before Python 3.12 asyncio.wait_for can swallow a cancellation.
                for task in pending:
                    task.cancel()
                _, pending = await asyncio.wait(pending, timeout=5)
            await asyncio.gather(*tasks, return_exceptions=True)
            self._flush()  # Executes commands that came; their reports leave at the next start.
            await self._loop.run_in_executor(None, self._terminal.shutdown)
            with self._lock:
                self._ended = True
                self._journal.sync(self._lock)

    async def _connect_forever(self) -> None:
        assert self._loop is not None
        self._attempt = 0
        while True:
            asked, code, self._had_error = 0.0, None, False
            self.notice("connecting", url=self._url)
            try:
                token = await self._loop.run_in_executor(None, self._session_token)
                async with self._connection(token) as socket:
                    await self._serve(socket)
                message = "the connection has ended"
            except ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else None
                ended = str(closed) if closed.sent else "the connection has ended"
                message = (closed.rcvd.reason if closed.rcvd else "") or ended
                # A 4502 without an error frame says that the hello was late, as after a stall of the computer.
                if code is not None and 4500 <= code <= 4999 and (code != 4502 or self._had_error):
                    raise Refused(*_REFUSALS.get(code, ("refused", f"{code} {message}"))) from None
                message = _HELLO_LATE if code == 4502 else message
            except (OSError, WebSocketException, asyncio.TimeoutError, LoginRefused) as error:
                answer = getattr(error, "response", error)
                if getattr(answer, "status_code", None) == 401:
                    raise Refused(*_SESSION_REFUSED) from None
                asked = _retry_after(getattr(answer, "headers", {}))
                message = str(error) or type(error).__name__
            finally:
                with self._lock:
                    self._socket = None
                    self._outgoing.close()
            delay = max(asked, _DELAYS[min(self._attempt, 3)]) * (1 + random.random() / 4)
            self._attempt += 1
            self.notice("disconnected", code=code, message=message, retrySeconds=round(delay, 3))
            await asyncio.sleep(delay)

    def _session_token(self) -> str:
        """Turns any error of the program's `token` into one that is retried: orders may rest at the broker."""
        try:
            return self._token()
        except (OSError, LoginRefused, Refused):
            raise
        except Exception as error:
            raise ConnectionError(f"no session token: {error!r}") from error

    def _connection(self, token: str) -> Any:
        headers: Any = {_HEADERS: {"Authorization": f"Bearer {token}"}}
        return _Connect(
            self._url, subprotocols=["signalbox.plugin.v1"], compression=None,  # type: ignore[list-item]
            max_size=2 * FRAME_BYTES_MAX, open_timeout=15, close_timeout=2, ping_interval=None, **headers)

    async def _serve(self, socket: Any) -> None:
        asked_at = _elapsed()  # The gateway reads its clock after this; its welcome may take long.
        await socket.send(line_of(self._hello()).decode())
        welcome = await _within(_WELCOME_SECONDS, self._welcome(socket))
        self._attempt = 0
        self._clock_offset = unix_seconds(welcome["serverTime"]) - asked_at
        with self._lock:
            self._outgoing.open(welcome["lastSeq"], welcome.get("outgoingQueue") or {})
            self._socket = socket
        if not self._resumed:
            self._resume()
        self.notice("connected", connectionId=welcome["connectionId"], lastSeq=welcome["lastSeq"])
        self._hand_over("connected", self.connected)
        self._wake_up()
        beating = asyncio.ensure_future(self._beat(socket, welcome["heartbeatMs"] / 1000))
        try:
            async for text in socket:
                self._receive(self._checked(text))
        finally:
            beating.cancel()

    def _hello(self) -> Frame:
        """Lists open executions, but none with a report on its way, which the gateway would then take for old."""
        with self._lock:
            return self._locked_hello()

    def _locked_hello(self) -> Frame:
        waiting = {frame.get("executionId") for _, frame in self._journal.reports.values()}
        open_ones = [{"executionId": key, **e.state} for key, e in self._journal.executions.items()
                     if e.state is not None and not e.is_final and key not in waiting]
        capabilities = ["submit"] + [name for name in ("cancel", "snapshot")
                                     if getattr(type(self), name) is not getattr(Plugin, name)]
        name, version = self._software
        hello = {"type": "hello", **self._source._asdict(), "capabilities": capabilities,
                 "software": {"name": name, "version": version}, "executions": open_ones[-1000:]}
        while len(line_of(hello)) > FRAME_BYTES_MAX:
            hello["executions"] = hello["executions"][len(hello["executions"]) // 4 + 1:]
        return hello

    async def _welcome(self, socket: Any) -> Frame:
        while True:
            frame = self._checked(await socket.recv())
            if frame.get("type") == "welcome":
                return frame
            self._receive(frame)

    def _checked(self, text: Union[str, bytes]) -> Frame:
        """The frame; an empty one if it is invalid or of an unknown type."""
        self._silent_beats = 0
        frame = gateway_frame(text)
        if frame is None:
            self.notice("bad_frame")
            return {}
        return frame

    def _receive(self, frame: Frame) -> None:
        kind = frame.get("type")
        if kind == "submit":
            self._take_submit(frame)
        elif kind == "cancel":
            self._take_cancel(frame["cancelRequestId"], frame["executionId"])
        elif kind == "snapshot":
            self._hand_over("snapshot", lambda: self._send_snapshot(frame["snapshotId"]))
        elif kind == "ack":
            with self._lock:
                self._outgoing.acknowledge(frame["seq"])
        elif kind == "error":
            self._had_error = True
            self.notice("gateway_error", code=frame["code"], message=frame.get("message", ""))

    def _take_submit(self, command: Frame) -> None:
        key = command["executionId"]
        with self._lock:
            known = self._journal.executions.get(key)
            if known is None:
                record: Frame = {"submit": command, "state": None, "fills": [], "at": time.time()}
                self._journal.note("execution", execution=record)
                self._after_flush.append(lambda: self._hand_over(key, lambda: self._execute(command)))
            elif known.state is not None:
                self._add({"type": "report", "executionId": key, **known.state})
            self._plain.append({"type": "ack", "executionId": key})
        self._wake_up()

    def _take_cancel(self, key: str, execution_id: str) -> None:
        with self._lock:
            known = self._journal.cancels.get(key)
            if known is None:
                record: Frame = {"executionId": execution_id, "state": None, "at": time.time()}
                self._journal.note("cancel", id=key, cancel=record)
                self._after_flush.append(lambda: self._hand_over(key, lambda: self._cancel(key, execution_id)))
            elif known.state is not None:
                self._add({"type": "cancel_report", "cancelRequestId": key, **known.state})
            self._plain.append({"type": "ack", "cancelRequestId": key})
        self._wake_up()

    def _resume(self) -> None:
        """Takes up commands that an earlier process stored and did not report on, and cancels without an outcome."""
        self._resumed = True
        for execution in self._journal.executions.values():
            if execution.state is None:
                command = execution.submit
                self._hand_over(command["executionId"], lambda command=command: self._settle(command))  # type: ignore
        for key, cancel in self._journal.cancels.items():
            if cancel.is_open:
                self._hand_over(key, lambda key=key, on=cancel.executionId: self._cancel(key, on))  # type: ignore

    async def _flush_forever(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            socket, frames = self._flush()
            try:
                for frame in frames if socket is not None else ():
                    await socket.send(line_of(frame).decode())
            except ConnectionClosed:
                pass  # `_serve` ends with the same error.

    def _flush(self) -> Tuple[Any, List[Frame]]:
        """Flushes once for all that has come, then hands it over. Returns the socket and the frames to send on it."""
        with self._lock:
            socket, works, frames = self._socket, self._after_flush, self._plain
            self._after_flush, self._plain = [], []
            if socket is not None:
                frames += self._outgoing.take()
        try:
            self._journal.sync(self._lock)
        except OSError as error:
            raise Refused("journal_failed", f"The journal cannot be written: {error}.") from error
        for work in works:
            work()
        return socket, frames

    async def _beat(self, socket: Any, seconds: float) -> None:
        """
        Sends heartbeats and pings, and closes a connection on which neither a frame nor a pong arrives. The library's
        own pings would not count frames: over a slow link a pong may wait behind a backlog for minutes.
        """
        while True:
            await asyncio.sleep(seconds)
            self._silent_beats += 1
            if self._silent_beats > _SILENT_BEATS_MAX:
                return await socket.close(1011, "the gateway has been silent for too long")
            self._plain.append({"type": "heartbeat"})
            self._wake.set()
            asyncio.ensure_future(self._ping(socket))

    async def _ping(self, socket: Any) -> None:
        try:
            await (await socket.ping())
            self._silent_beats = 0
        except ConnectionClosed:
            pass  # `_serve` ends with the same error.

    async def _poll_forever(self) -> None:
        while type(self).poll is not Plugin.poll:
            await asyncio.sleep(self.poll_seconds)
            await asyncio.wrap_future(self._terminal.submit(self._guard, "poll", self.poll))
        await asyncio.Event().wait()

    def _wake_up(self) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake.set)

    def _hand_over(self, key: str, work: Callable[[], Any]) -> None:
        self._terminal.submit(self._guard, key, work)

    # What follows runs on the terminal's thread.

    def _guard(self, key: str, work: Callable[[], Any]) -> None:
        """Reports as unknown what a failed call was about: the terminal must go on with its other orders."""
        try:
            work()
        except Exception as error:  # pylint: disable=broad-except
            unknown: Evidence = {"status": "unknown", "reasonCode": "plugin_error", "native": {"text": repr(error)}}
            execution, cancel = self._journal.executions.get(key), self._journal.cancels.get(key)
            if execution is not None and not execution.is_final:
                self.report(key, unknown)
            elif cancel is not None and cancel.is_open:
                self.cancel_report(key, unknown)
            self.notice("failed", id=key, message=repr(error))  # Last: it may fail, as on a closed standard error.

    def _execute(self, command: Any) -> None:
        """Compares with the gateway's clock: the computer's own may be wrong by more than the TTL."""
        if _elapsed() + self._clock_offset < unix_seconds(command["expiresAt"]):
            self.submit(command)
        else:
            self.report(command["executionId"], {"status": "expired", "reasonCode": "ttl_expired"})

    def _settle(self, command: Submit) -> None:
        found = self.in_doubt(command)
        if found == EXECUTE:
            self._execute(command)
        elif isinstance(found, dict):
            self.report(command["executionId"], found)

    def _cancel(self, key: str, execution_id: str) -> None:
        if execution_id in self._journal.executions:
            self.cancel(key, execution_id)
        else:
            self.cancel_report(key, {"status": "rejected", "reasonCode": "order_unknown_at_terminal"})

    def _send_snapshot(self, snapshot_id: str) -> None:
        data = {"account": {}, "positions": [], "orders": [], **self.snapshot(), "snapshotId": snapshot_id}
        while len(line_of(data)) > FRAME_BYTES_MAX - 1024 and data["orders"]:
            less = len(data["orders"]) // 4 + 1
            data["orders"] = data["orders"][less:]
            data["ordersOmitted"] = less + (data.get("ordersOmitted") or 0)
        if not self.event("state_snapshot", data):
            raise ValueError("the snapshot is not sent: even without its orders it is larger than a frame")
