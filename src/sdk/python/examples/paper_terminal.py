"""
A paper terminal on the plugin base: market orders fill at once at 5000, a limit order that does not cross rests.
A terminal of your own replaces `trade`, and asks its broker in `in_doubt` and `cancel`.

    SIGNALBOX_URL=http://127.0.0.1:8080 SIGNALBOX_EMAIL=ann@example.com SIGNALBOX_PASSWORD=… \
        python3 examples/paper_terminal.py terminal_a desk-1 Sim101 journal
"""

import os
import signal
import sys
from typing import Any, Dict, Mapping

from signalbox.plugin import (EXECUTE, Evidence, Execution, JournalRefused, LoginRefused, Plugin, Refused, Source,
                              Submit, fault_of, log_in, short_id, utc_now)

PRICE = 5000.0


class PaperTerminal(Plugin):
    #: Commands of the orders that rest, by executionId.
    resting: Dict[str, Submit]
    positions: Dict[str, float]

    def restore(self, executions: Mapping[str, Execution]) -> None:
        self.resting = {key: e.submit for key, e in executions.items() if not e.is_final}
        self.positions = {}

    def submit(self, command: Submit) -> None:
        fault = fault_of(command, ["order/submit"], without=["stopPrice", "timeInForce", "stopLoss", "takeProfit"])
        if fault is not None:
            rejected: Evidence = {"status": "rejected", "reasonCode": fault.reasonCode, "native": {"text": fault.text}}
            return self.report(command["executionId"], rejected)
        return self.report(command["executionId"], self.trade(command))

    def trade(self, command: Submit) -> Evidence:
        key, order = command["executionId"], command["payload"]
        sign = 1 if order["side"] == "buy" else -1
        number = short_id(key)
        if order["executionType"] == "limit" and sign * (order["limitPrice"] - PRICE) < 0:
            self.resting[key] = command
            return {"status": "working", "native": {"orderId": number, "state": "Working"}}
        quantity = order["quantity"]
        position = self.positions.get(order["instrument"], 0.0) + sign * quantity
        self.positions[order["instrument"]] = position
        return {
            "status": "filled",
            "filledQuantity": quantity,
            "remainingQuantity": 0,
            "averageFillPrice": PRICE,
            "fill": {"fillId": f"{number}/1", "price": PRICE, "quantity": quantity, "filledAt": utc_now()},
            "native": {"orderId": number, "state": "Filled"},
        }

    def in_doubt(self, command: Submit) -> str:
        return EXECUTE  # The broker lived in the earlier process, so no order of it is left.

    def cancel(self, cancel_request_id: str, execution_id: str) -> None:
        if self.resting.pop(execution_id, None) is None:
            return self.cancel_report(cancel_request_id, {"status": "too_late"})
        self.report(execution_id, {"status": "cancelled", "reasonCode": "cancelled_by_api"})
        return self.cancel_report(cancel_request_id, {"status": "cancelled"})

    def snapshot(self) -> Mapping[str, Any]:
        positions = [{"instrument": i, "side": "long" if q > 0 else "short", "quantity": abs(q)}
                     for i, q in self.positions.items() if q != 0]
        orders = [{"executionId": key, "orderRef": command.get("orderRef"), "state": "Working"}
                  for key, command in self.resting.items()]
        return {"account": {"currency": "USD", "balance": 100000}, "positions": positions, "orders": orders}

    def connected(self) -> None:
        self.event("connection_status", {"status": "connected", "isSimulated": True})


def main() -> None:
    url = os.environ["SIGNALBOX_URL"]
    platform, instance_id, account_name, journal_dir = sys.argv[1:]
    try:
        token = log_in(url, os.environ["SIGNALBOX_EMAIL"], os.environ["SIGNALBOX_PASSWORD"])
        source = Source(platform, instance_id, account_name)
        terminal = PaperTerminal(url, lambda: token, source, journal_dir)
        signal.signal(signal.SIGTERM, lambda *_: terminal.stop())
        terminal.run()
    except (Refused, JournalRefused, LoginRefused) as error:
        sys.exit(f"{error}")  # A supervisor starts the program again, which then logs in.


if __name__ == "__main__":
    main()
