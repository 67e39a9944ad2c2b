"""Logs a plugin in: email and password for a session token."""

from __future__ import annotations

import json
import urllib.error
import urllib.request


class LoginRefused(Exception):
    """There is no session token; the message says why."""


def log_in(url: str, email: str, password: str) -> str:
    """Returns a session token. It is valid for 30 days; logins are limited to 10 a minute."""
    body = json.dumps({"email": email, "password": password}).encode()
    request = urllib.request.Request(url.rstrip("/") + "/api/auth/login", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=15) as answer:
            return str(json.load(answer)["sessionToken"])
    except urllib.error.HTTPError as error:
        text = error.read(200).decode(errors="replace")
        raise LoginRefused(f"The gateway refuses the login ({error.code} {text}).") from None
    except (OSError, ValueError, KeyError) as error:
        raise LoginRefused(f"No login at {url}: {error!r}.") from error
