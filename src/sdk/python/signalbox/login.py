"""Logs a plugin in: email and password for a session token."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from typing import Any, Callable

from .bot import BROKEN, FinalResponse, Wire, deadline

_TIMEOUT_SECONDS = 15.0


class LoginRefused(Exception):
    """There is no session token; the message says why."""


def log_in(url: str, email: str, password: str) -> str:
    """Returns a session token. It is valid for 30 days; logins are limited to 10 a minute."""
    body = json.dumps({"email": email, "password": password}).encode()
    request = urllib.request.Request(url.rstrip("/") + "/api/auth/login", body, {"Content-Type": "application/json"})
    left = deadline(time, _TIMEOUT_SECONDS)
    try:
        opener = urllib.request.build_opener(_Http(left), _Https(left), _NoRedirect)
        with opener.open(request, timeout=_TIMEOUT_SECONDS) as answer:
            return str(json.load(answer)["sessionToken"])
    except urllib.error.HTTPError as error:
        raise LoginRefused(f"The gateway refuses the login ({error.code} {_text_of(error)}).") from None
    except (*BROKEN, RecursionError, ValueError, KeyError, TypeError) as error:
        raise LoginRefused(f"No login at {url}: {error!r}.") from error


def _text_of(error: urllib.error.HTTPError) -> str:
    try:
        return error.read(200).decode(errors="replace")
    except BROKEN:
        return ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Takes a redirect as a refusal: no other host than the gateway gives the session token."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Http(urllib.request.HTTPHandler):
    def __init__(self, left: Callable[..., float]) -> None:
        super().__init__()
        self._left = left

    def http_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(_within(self._left, http.client.HTTPConnection), req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, left: Callable[..., float]) -> None:
        super().__init__()
        self._left = left

    def https_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(_within(self._left, http.client.HTTPSConnection), req)


def _within(left: Callable[..., float], connection: Any) -> Any:
    """A connection whose reads share one timeout: that of a socket begins anew with each read."""

    class Connection(connection):  # type: ignore[misc]
        response_class = FinalResponse

        def connect(self) -> None:
            super().connect()
            self.sock = Wire(self.sock, left)

    return Connection
