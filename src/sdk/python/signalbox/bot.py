"""
A bot client: sends signals, cancels orders, reads their status, follows events. Every attempt of an operation has
the same Idempotency-Key and the same bytes, so that an order is never duplicated. Standard library only, one file;
stateless but for its settings, so that threads can share one `BotClient`.
"""

from __future__ import annotations

import email.utils
import http.client
import io
import json
import random
import re
import secrets
import socket
import ssl
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union
from urllib.parse import quote, urlencode, urlsplit


class Failure(Exception):
    """
    `kind` is `unknown` if the operation may have taken effect: never repeat it with a new key. Otherwise it had no
    effect: the gateway was `unreachable` or `refused` it, with a `code` that this client may not know.
    """

    def __init__(self, kind: str, message: str, answer: Optional[Answer] = None, key: Optional[str] = None) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.idempotency_key = key
        error = answer.error if answer is not None else {}
        body = answer.body if answer is not None and isinstance(answer.body, dict) else {}
        self.status = answer.status if answer is not None else None
        self.code: Optional[str] = error.get("code")
        self.trace_id: Optional[str] = error.get("traceId")
        #: The signal that the gateway had created or found, if any.
        self.request_id: Optional[str] = body.get("requestId")
        self.details: List[Dict[str, str]] = error.get("details") or []


@dataclass(frozen=True)
class Prepared:
    """A signal that is ready to be sent. Store it before you send it, to resume it after a crash."""

    idempotency_key: str
    body: str
    signal_id: str
    #: Unix seconds.
    prepared_at: float
    expires_at: float


@dataclass(frozen=True)
class PreparedCancel:
    idempotency_key: str
    order_ref: str
    prepared_at: float


@dataclass(frozen=True)
class Event:
    """An event of a terminal. A stream resumes after its `id`. `event` is `replay_gap` where events were lost."""

    id: str
    event: str
    data: Dict[str, Any]


@dataclass(frozen=True)
class Answer:
    status: int
    #: None if the answer is not JSON.
    body: Any
    retry_after: float
    error: Dict[str, Any] = field(default_factory=dict)

    def summary(self) -> str:
        """With the gateway's message, which says what to correct."""
        parts = [f"HTTP {self.status}", self.error.get("code"), self.error.get("message")]
        return ", ".join(part for part in parts if isinstance(part, str))


class NoAnswer(NamedTuple):
    #: False only if certainly no byte of the request was sent.
    may_have_been_sent: bool
    reason: str


class _Rule(NamedTuple):
    #: never, backoff (on top of Retry-After), after_retry_after, at_once (without a wait the first time).
    retry: str
    #: Whether the operation may have taken effect: raised (by this attempt), unchanged, settled (none has).
    doubt: str


_BY_CODE = {
    "request_in_progress": _Rule("after_retry_after", "raised"),
    "idempotency_outcome_unknown": _Rule("never", "raised"),
    "signal_processing_failed": _Rule("backoff", "raised"),
    "public_api_disabled": _Rule("backoff", "unchanged"),
    "storage_unavailable": _Rule("backoff", "unchanged"),
    "shutting_down": _Rule("backoff", "unchanged"),
    "idempotency_conflict": _Rule("never", "settled"),
    "malformed_json": _Rule("never", "settled"),
    "invalid_signal": _Rule("never", "settled"),
    "invalid_filter": _Rule("never", "settled"),
    "invalid_timeout": _Rule("never", "settled"),
}
#: The rule of a status is that of the first number not above it. A retry gets the stored answer of a success that
#: could not be read.
_BY_STATUS = (
    (506, _Rule("backoff", "raised")),
    (505, _Rule("at_once", "raised")),
    (500, _Rule("backoff", "raised")),
    (430, _Rule("never", "unchanged")),
    (429, _Rule("backoff", "unchanged")),
    (300, _Rule("never", "unchanged")),
    (0, _Rule("backoff", "raised")),
)
#: Fields of a successful answer. One without them is not the gateway's, as from a proxy, and is asked for again.
_Shape = Mapping[str, type]
_ACCEPTED: _Shape = {"requestId": str}
_CANCELLING: _Shape = {"cancelRequestId": str}
_SIGNAL: _Shape = {"status": str, "executions": list}
_SIGNALS: _Shape = {"signals": list}
_SOURCES: _Shape = {"sources": list}
#: Seconds between attempts; short at first for mutations, because the TTL runs.
_MUTATION_DELAYS = (0.25, 0.5, 1, 2, 4, 8, 10)
_READ_DELAYS = (1, 2, 5, 10)
_RETENTION_SECONDS = 86400
_SETTLE_SECONDS = 30
_SILENCE_SECONDS = 45
#: More than the largest answer at the default limits: a status with 64 executions and 10,000 fills, all texts at their
#: longest. Another server in the gateway's place may send an answer without an end.
_ANSWER_BYTES_MAX = 2**24
#: How reading an answer fails. MemoryError: http.client allocates as much as the answer announces.
BROKEN = (OSError, http.client.HTTPException, MemoryError)
#: Several times as long as the longest event that a plugin can send.
_BLOCK_BYTES_MAX = 2**20
#: Characters of an event id that a header can carry: with others the stream could not be resumed.
_CURSOR = re.compile("[!-~]+")
#: Milliseconds until a stream that has ended is opened again.
_RETRY = re.compile("[0-9]{1,9}")


def rule_of(reply: Any) -> _Rule:
    if isinstance(reply, NoAnswer):
        return _Rule("backoff", "raised" if reply.may_have_been_sent else "unchanged")
    details = reply.error.get("details") or []
    if reply.error.get("code") == "invalid_signal" and [d.get("code") for d in details] == ["signal_from_future"]:
        return _Rule("backoff", "unchanged")  # The same bytes are valid later.
    found = _BY_CODE.get(reply.error.get("code", ""))
    return found or next(rule for status, rule in _BY_STATUS if reply.status >= status)


class BotClient:
    """`api_key` is used in the Authorization header and nowhere else. Methods raise Failure."""

    def __init__(self, base_url: str, api_key: str, timeout: float = 10.0,
                 clock: Any = time, jitter: Callable[[], float] = random.random) -> None:
        """
        `timeout`: seconds of one attempt with its whole response, but without the look-up of the host's name, which
        takes as long as the system lets it. `clock`: `time`, `monotonic` and `sleep`, as in the module `time`.
        """
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or parts.hostname is None or parts.username is not None:
            raise ValueError("base_url must begin with http:// or https:// and hold no credentials")
        if not re.fullmatch("svc_api_[!-~]+", api_key):
            raise ValueError("api_key must be a Public API key")
        self._is_secure, self._host = parts.scheme == "https", parts.hostname
        self._port, self._prefix = parts.port or (443 if self._is_secure else 80), parts.path.rstrip("/")
        self._api_key, self._timeout, self._clock, self._jitter = api_key, timeout, clock, jitter

    def prepare(self, *, platform: str, type: str, cmd: str, payload: Mapping[str, Any], ttl_ms: int,
                signal_id: Optional[str] = None, instance_id: Optional[str] = None,
                account_name: Optional[str] = None, idempotency_key: Optional[str] = None) -> Prepared:
        """The signal's key and bytes, without sending."""
        now = self._clock.time()
        signal_id = signal_id or secrets.token_hex(16)
        envelope: Dict[str, Any] = {"v": 1, "signalId": signal_id, "ts": int(now * 1000), "ttlMs": ttl_ms,
                                    "platform": platform, "type": type, "cmd": cmd, "payload": dict(payload)}
        targets = {"instanceId": instance_id, "accountName": account_name}
        envelope.update({name: value for name, value in targets.items() if value is not None})
        body = json.dumps(envelope, separators=(",", ":"), allow_nan=False)
        return Prepared(idempotency_key or secrets.token_hex(16), body, signal_id, now, now + ttl_ms / 1000)

    def send(self, prepared: Prepared, resumed: bool = False) -> Dict[str, Any]:
        """Retries until the gateway accepts or refuses the signal. `resumed`: an earlier run may have sent it."""
        give_up = max(0.0, prepared.expires_at - self._clock.time()) + _SETTLE_SECONDS
        return self._mutate("/api/v1/signals", prepared.body, prepared, resumed, give_up, _ACCEPTED)

    def submit(self, **signal: Any) -> Dict[str, Any]:
        """`prepare` and `send` in one."""
        return self.send(self.prepare(**signal))

    def prepare_cancel(self, order_ref: str, idempotency_key: Optional[str] = None) -> PreparedCancel:
        return PreparedCancel(idempotency_key or secrets.token_hex(16), order_ref, self._clock.time())

    def send_cancel(self, prepared: PreparedCancel, resumed: bool = False) -> Dict[str, Any]:
        path = f"/api/v1/orders/{quote(prepared.order_ref, safe='')}/cancel"
        return self._mutate(path, None, prepared, resumed, 60.0, _CANCELLING)

    def cancel(self, order_ref: str) -> Dict[str, Any]:
        """Requests the cancel of one order; its outcome is in `executions[].cancel` of the signal."""
        return self.send_cancel(self.prepare_cancel(order_ref))

    def status(self, request_id: str) -> Dict[str, Any]:
        return self._read(f"/api/v1/signals/{quote(request_id, safe='')}", _SIGNAL)

    def wait_for_result(self, request_id: str, timeout: float) -> Dict[str, Any]:
        """
        Waits until the signal is `completed`. After `timeout` seconds returns it as it is, still `accepted`, or
        raises Failure if there is no answer. An attempt in flight still gets its own timeout.
        """
        ends = self._clock.monotonic() + timeout
        while True:
            began = self._clock.monotonic()
            left = max(0.0, ends - began)
            wait = min(left, 20.0)
            found = self._read(f"/api/v1/signals/{quote(request_id, safe='')}", _SIGNAL, left, wait)
            if found["status"] == "completed" or self._clock.monotonic() >= ends:
                return found
            if self._clock.monotonic() - began < wait:  # A gateway that shuts down answers at once.
                self._clock.sleep(min(1.0, max(0.0, ends - self._clock.monotonic())))

    def open(self) -> List[Dict[str, Any]]:
        """All signals that are not completed, newest first: what a bot reads when it starts again."""
        found: List[Dict[str, Any]] = []
        before: Optional[str] = None
        while True:
            query = {"status": "open", "limit": "200", **({"before": before} if before else {})}
            page = self._read(f"/api/v1/signals?{urlencode(query)}", _SIGNALS)
            found += page["signals"]
            if page.get("next") is None:
                return found
            if page["next"] == before:  # A proxy that drops the query would give the first page for ever.
                raise Failure("unreachable", "the list of signals does not advance: a page ends where it began")
            before = page["next"]

    def sources(self) -> List[Dict[str, Any]]:
        return list(self._read("/api/v1/terminal-events/sources", _SOURCES)["sources"])

    def events(self, platform: str, instance_id: str, account_name: str,
               last_event_id: Optional[str] = None) -> Iterator[Event]:
        """
        Yields the events of one terminal for ever, in order, each once: reconnects and resumes by itself. Raises
        Failure where a retry cannot help.
        """
        query = urlencode({"platform": platform, "instanceId": instance_id, "accountName": account_name})
        cursor, failures = last_event_id, 0
        while True:
            wait = 0.0
            headers = {"Accept": "text/event-stream", **({"Last-Event-ID": cursor} if cursor else {})}
            path = f"/api/v1/terminal-events/stream?{query}"
            left = deadline(self._clock, self._timeout)
            is_open = False
            connection, reply = self._open("GET", path, None, headers,
                                           lambda taken=0: _SILENCE_SECONDS if is_open else left(taken))
            try:
                if isinstance(reply, http.client.HTTPResponse) and reply.status == 200:
                    is_open = True
                    # If the stream breaks before its first id, this cursor makes the gateway tell of lost events.
                    cursor = cursor or "none"
                    for event in _blocks(reply):
                        cursor = event.id if _CURSOR.fullmatch(event.id) else cursor
                        if event.event:
                            failures = 0
                            yield event
                        elif _RETRY.fullmatch(event.data["retry"]):
                            wait = int(event.data["retry"]) / 1000
                elif isinstance(reply, http.client.HTTPResponse):
                    answer = self._answer(reply)
                    if rule_of(answer).retry == "never":
                        raise Failure("refused", answer.summary(), answer)
                    wait = answer.retry_after
            except BROKEN:
                pass  # The stream is resumed.
            finally:
                connection.close()
            self._clock.sleep(max(wait, self._delay(_READ_DELAYS, failures)))
            failures += 1

    def _read(self, path: str, needed: _Shape, give_up: float = 30.0, wait: float = 0.0) -> Dict[str, Any]:
        """`wait`: seconds for which the gateway may hold back its answer."""
        return self._run("GET", path, None, needed, None, False, _READ_DELAYS, give_up, 0.0, wait)

    def _mutate(self, path: str, body: Optional[str], prepared: Any, resumed: bool, give_up: float,
                needed: _Shape) -> Dict[str, Any]:
        certain_until = prepared.prepared_at + _RETENTION_SECONDS
        return self._run("POST", path, body, needed, prepared.idempotency_key, resumed, _MUTATION_DELAYS, give_up,
                         certain_until, 0.0)

    def _run(self, method: str, path: str, body: Optional[str], needed: _Shape, key: Optional[str], in_doubt: bool,
             delays: Sequence[float], give_up: float, certain_until: float, wait: float) -> Dict[str, Any]:
        """Repeats the same request by the rules, and tracks over all attempts whether it may have taken effect."""
        ends = self._clock.monotonic() + give_up
        attempt = 0
        while True:
            reply = self._exchange(method, path, body, key, min(wait, max(0.0, ends - self._clock.monotonic())))
            is_success = isinstance(reply, Answer) and 200 <= reply.status < 300
            if is_success and _has(reply.body, needed):
                return dict(reply.body)
            rule = rule_of(reply)
            if key is not None and rule.doubt == "raised":
                in_doubt = True
            elif rule.doubt == "settled" and self._clock.time() < certain_until:
                in_doubt = False
            asked = reply.retry_after if isinstance(reply, Answer) else 0.0
            left = ends - self._clock.monotonic()
            if rule.retry == "never" or left <= 0 or asked > left:
                kind = "refused" if isinstance(reply, Answer) and not is_success else "unreachable"
                answer = reply if isinstance(reply, Answer) else None
                last = reply.reason if answer is None else answer.summary()
                raise Failure("unknown" if in_doubt else kind, last, answer, key)
            backoff = self._delay(delays, attempt)
            pause = {"backoff": asked + backoff, "after_retry_after": asked or backoff,
                     "at_once": backoff if attempt else 0.0}[rule.retry]
            self._clock.sleep(min(pause, left))
            attempt += 1

    def _delay(self, delays: Sequence[float], attempt: int) -> float:
        return delays[min(attempt, len(delays) - 1)] * (1 + self._jitter() / 4)

    def _exchange(self, method: str, path: str, body: Optional[str], key: Optional[str], wait: float) -> Any:
        headers = {} if body is None else {"Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        if wait > 0:
            path = f"{path}?waitMs={int(wait * 1000)}"
        connection, reply = self._open(method, path, body, headers, deadline(self._clock, self._timeout + wait))
        try:
            return self._answer(reply) if isinstance(reply, http.client.HTTPResponse) else reply
        except BROKEN as error:
            return NoAnswer(True, str(error) or type(error).__name__)
        finally:
            connection.close()

    def _open(self, method: str, path: str, body: Optional[str], headers: Dict[str, str],
              left: Callable[..., float]) -> Tuple[http.client.HTTPConnection, Any]:
        """
        Returns the connection with an HTTPResponse or NoAnswer. Follows no redirect, which would take the operation
        elsewhere. `left`: as `deadline` returns it.
        """
        connection = http.client.HTTPConnection(self._host, self._port)
        if self._is_secure:
            tls = ssl.create_default_context()
            tls.set_alpn_protocols(["http/1.1"])
            connection = http.client.HTTPSConnection(self._host, self._port, context=tls)
        is_sent = False
        try:
            plain = self._connect(left)
            connection.sock = plain  # So that `close` closes it if the handshake fails.
            plain.settimeout(left())  # Unlike that of a read, this timeout holds for the whole handshake.
            sock = tls.wrap_socket(plain, server_hostname=self._host) if self._is_secure else plain
            connection.sock, connection.response_class = Wire(sock, left), FinalResponse
            is_sent = True
            connection.request(method, self._prefix + path, body.encode() if body is not None else None,
                               {"Authorization": f"Bearer {self._api_key}", **headers})
            return connection, connection.getresponse()
        except BROKEN as error:
            return connection, NoAnswer(is_sent, str(error) or type(error).__name__)

    def _connect(self, left: Callable[..., float]) -> socket.socket:
        """Each address gets a share of the time: one that never answers must leave time for the others."""
        found = socket.getaddrinfo(self._host, self._port, 0, socket.SOCK_STREAM)
        last = OSError("the host has no address")
        for tried, (family, kind, protocol, _, address) in enumerate(found):
            sock = socket.socket(family, kind, protocol)
            try:
                sock.settimeout(left() / (len(found) - tried))
                sock.connect(address)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return sock
            except OSError as error:
                sock.close()
                last = error
        raise last

    def _answer(self, response: http.client.HTTPResponse) -> Answer:
        """Takes any body: an exception here would hide that the operation may have taken effect."""
        body = _parsed(response.read())
        error = body.get("error") if isinstance(body, dict) else None
        if not isinstance(error, dict) or not isinstance(error.get("code"), str):
            error = {}
        details = error.get("details")
        if not isinstance(details, list) or not all(isinstance(each, dict) for each in details):
            error = {**error, "details": []}
        return Answer(response.status, body, self._seconds(response.getheader("Retry-After", "")), error)

    def _seconds(self, asked: str) -> float:
        """Seconds of a Retry-After, which some proxies send as a date; at most what a sleep takes."""
        try:
            if asked.isdigit():
                seconds = float(asked)
            else:
                date = email.utils.parsedate_tz(asked)
                seconds = email.utils.mktime_tz(date) - self._clock.time() if date is not None else 0.0
        except (ValueError, OverflowError):
            return 0.0
        return max(0.0, min(seconds, 1e8))


def deadline(clock: Any, seconds: float) -> Callable[..., float]:
    """Returns a function for the rest of `seconds`, which raises if none is left, or if too many bytes are `taken`."""
    ends = clock.monotonic() + seconds

    def left(taken: int = 0) -> float:
        if taken > _ANSWER_BYTES_MAX:
            raise OSError(f"the answer has more than {_ANSWER_BYTES_MAX} bytes")
        rest = float(ends - clock.monotonic())
        if rest <= 0:
            raise socket.timeout("timed out")
        return rest

    return left


class Wire:
    """
    The part of a socket that http.client uses. A socket's timeout begins anew with each read, so that an answer of
    single bytes would never end; here each read and write gets the time that is left.
    """

    def __init__(self, sock: socket.socket, left: Callable[..., float]) -> None:
        self._sock, self._left = sock, left

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self._sock.settimeout(self._left())
            rest = rest[self._sock.send(rest):]

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Received(self._sock, self._left))

    def close(self) -> None:
        self._sock.close()


class FinalResponse(http.client.HTTPResponse):
    """
    Skips interim answers of a proxy, such as a 103; http.client skips only a 100. An answer whose head is cut off is
    none; http.client takes it as it is, without its error code.
    """

    def begin(self) -> None:
        received: _Received = self.fp.raw  # type: ignore[attr-defined]  # `begin` closes `fp` if there is no body.
        super().begin()
        while 100 < self.status < 200 and self.status != 101:
            self.headers = self.msg = None  # type: ignore[assignment]
            super().begin()
        if received.has_ended:  # Nothing is read behind the empty line of a whole head.
            raise http.client.IncompleteRead(b"")


class _Received(io.RawIOBase):
    def __init__(self, sock: socket.socket, left: Callable[..., float]) -> None:
        self._sock, self._left, self._taken = sock, left, 0
        #: Whether the other side has closed the connection.
        self.has_ended = False
        self._raw: Any = sock.makefile("rb", 0)  # Keeps the socket open until it is closed, too.

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> Optional[int]:
        self._sock.settimeout(self._left(self._taken))
        size: Optional[int] = self._raw.readinto(into)
        self._taken += size or 0
        self.has_ended = size == 0
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()


def _has(body: Any, needed: _Shape) -> bool:
    return isinstance(body, dict) and all(isinstance(body.get(name), kind) for name, kind in needed.items())


def _parsed(text: Union[str, bytes]) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _blocks(response: http.client.HTTPResponse) -> Iterator[Event]:
    """
    Yields the blocks of an event stream. A block without data has no `event`: it tells where the stream begins, or
    how long to wait after its end. Skips data that is not JSON, as from a proxy; a block without an end breaks the
    stream.
    """
    found: Dict[str, str] = {}
    size = 0
    for line in iter(lambda: response.readline(_BLOCK_BYTES_MAX), b""):
        size += len(line)
        if size >= _BLOCK_BYTES_MAX:
            raise http.client.LineTooLong("event")
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if text == "":
            if "data" in found:
                data = _parsed(found["data"])
                if data is not None:
                    yield Event(found.get("id", ""), found.get("event") or "message", data)
            else:
                yield Event(found.get("id", ""), "", {"retry": found.get("retry", "")})
            found, size = {}, 0
            continue
        name, _, value = text.partition(":")
        value = value[1:] if value.startswith(" ") else value
        found[name] = f"{found[name]}\n{value}" if name == "data" and "data" in found else value
