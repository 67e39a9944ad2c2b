"""
The bot client, called line by line: a JSON array [method, arguments] on standard input, its result, failure, pauses
or first event on standard output. Time passes only while the client pauses.

    bot_program.py BASE_URL API_KEY
"""

import json
import sys
import time

from signalbox.bot import Answer, BotClient, Failure, NoAnswer, rule_of


class Clock:
    def __init__(self):
        self.passed = 0.0
        self.pauses = []

    def time(self):
        return time.time() + self.passed

    def monotonic(self):
        return time.monotonic() + self.passed

    def sleep(self, seconds):
        self.passed += seconds
        self.pauses.append(seconds)


clock = Clock()
bot = BotClient(sys.argv[1], sys.argv[2], timeout=2.0, clock=clock, jitter=lambda: 0.0)
streams = {}


def rule(reply):
    return list(rule_of(Answer(reply["status"], None, 0.0, reply["error"]) if reply else NoAnswer(True, "")))


def next_event(*source):
    stream = streams.setdefault(source, bot.events(*source))
    event = next(stream)
    return [event.id, event.event, event.data]


calls = {"rule": rule, "next_event": next_event}
for line in sys.stdin:
    method, arguments = json.loads(line)
    clock.pauses = []
    try:
        call = calls.get(method) or getattr(bot, method)
        value = call(**arguments) if isinstance(arguments, dict) else call(*arguments)
        answer = {"value": value}
    except Failure as failure:
        answer = {"failure": {"kind": failure.kind, "code": failure.code, "status": failure.status, "text": str(failure),
                              "request_id": failure.request_id}}
    print(json.dumps({**answer, "pauses": clock.pauses}), flush=True)
