"""
A terminal of the tests whose broker outlives it: a file with a line for each order that was placed. An order is
in it twice if a command was executed twice. The last argument says whether the process kills
itself before or after it places an order.

    ledger_terminal.py PLATFORM INSTANCE ACCOUNT JOURNAL LEDGER never|before|after
"""

import os
import signal
import sys

from signalbox.plugin import EXECUTE, Plugin, Source, log_in, utc_now

platform, instance_id, account_name, journal_dir, ledger, dies = sys.argv[1:]


def placed():
    with open(ledger, "a+") as file:
        file.seek(0)
        return file.read().split()


def die(where):
    if dies == where:
        os.kill(os.getpid(), signal.SIGKILL)


class LedgerTerminal(Plugin):
    def submit(self, command):
        die("before")
        with open(ledger, "a") as file:
            file.write(command["executionId"] + "\n")
        die("after")
        self.report(command["executionId"], self.filled(command))

    def cancel(self, cancel_request_id, execution_id):
        self.cancel_report(cancel_request_id, {"status": "cancelled" if dies == "never" else "pending"})

    def in_doubt(self, command):
        return self.filled(command) if command["executionId"] in placed() else EXECUTE

    def snapshot(self):
        rows = [{"orderId": f"{number:0100}"} for number in range(2000)]
        return {"positions": rows} if dies == "crowded" else {"orders": rows, "ordersOmitted": 5}

    def filled(self, command):
        quantity = command["payload"]["quantity"]
        fill = {"fillId": "1", "price": 5000, "quantity": quantity, "filledAt": utc_now()}
        return {"status": "filled", "filledQuantity": quantity, "remainingQuantity": 0, "fill": fill}


token = log_in(os.environ["SIGNALBOX_URL"], os.environ["SIGNALBOX_EMAIL"], os.environ["SIGNALBOX_PASSWORD"])
LedgerTerminal(os.environ["SIGNALBOX_URL"], lambda: token, Source(platform, instance_id, account_name), journal_dir).run()
