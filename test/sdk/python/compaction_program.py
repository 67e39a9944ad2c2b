"""
A plugin flushes a journal of so many lines that its file is replaced. At each step of the replacement another thread tries
to report, which it cannot do while the flush holds the lock. Prints the steps at which it reported, and the reports that
the new file holds.

    compaction_program.py JOURNAL
"""

import json
import os
import sys
import threading

from signalbox.journal import Journal
from signalbox.plugin import Plugin, Source

source = Source("terminal_a", "desk-1", "Sim101")
plugin = Plugin("http://127.0.0.1:1", lambda: "token", source, sys.argv[1])
for _ in range(Journal.COMPACT_AFTER + 1):
    plugin._journal.note("acknowledged", seq=0)
reported = []


def reporting(step):
    def report():
        if plugin._lock.acquire(blocking=False):
            plugin.cancel_report(step.__name__, {"status": "pending"})
            plugin._lock.release()
            reported.append(step.__name__)

    def wrapped(*arguments):
        terminal = threading.Thread(target=report)
        terminal.start()
        terminal.join()
        return step(*arguments)

    return wrapped


steps = os.fsync, os.replace
os.fsync, os.replace = map(reporting, steps)
plugin._flush()
os.fsync, os.replace = steps
plugin._journal.close()
kept = Journal(sys.argv[1], source).reports.values()
print(json.dumps({"reported": reported, "kept": [frame["cancelRequestId"] for _, frame in kept]}))
