"""
A MetaTrader 5 terminal on the plugin base, through the package `MetaTrader5` (Windows, beside the terminal). Takes
market and limit orders, and cancels them. The tests run it with a fake of that package, never with a terminal: try
it on a demo account, and read it, before it trades.

    python examples/metatrader5_terminal.py terminal_b desk-1 "1234567@Broker-Demo" journal
"""

import os
import signal
import sys
import time
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, Mapping, Optional, Union

import MetaTrader5 as mt5

from signalbox.plugin import (Evidence, Execution, Fault, Fill, JournalRefused, LoginRefused, Plugin,
                              Refused, Source, Submit, fault_of, log_in, short_id)

#: How far back MetaTrader's history is searched for an order.
HISTORY = timedelta(days=7)
HALF_HOUR_MS = 1_800_000
#: Return codes after which the order certainly does not exist; after any other failure it is in doubt.
REJECTIONS = {
    mt5.TRADE_RETCODE_REJECT: "broker_rejected",
    mt5.TRADE_RETCODE_INVALID: "broker_rejected",
    mt5.TRADE_RETCODE_INVALID_VOLUME: "invalid_quantity",
    mt5.TRADE_RETCODE_INVALID_PRICE: "invalid_price",
    mt5.TRADE_RETCODE_TRADE_DISABLED: "trading_disabled",
    mt5.TRADE_RETCODE_MARKET_CLOSED: "market_closed",
    mt5.TRADE_RETCODE_NO_MONEY: "insufficient_funds",
    mt5.TRADE_RETCODE_PRICE_OFF: "no_quotes",
    mt5.TRADE_RETCODE_REQUOTE: "price_changed",
    mt5.TRADE_RETCODE_TOO_MANY_REQUESTS: "too_many_requests",
    mt5.TRADE_RETCODE_LIMIT_ORDERS: "order_limit_reached",
    mt5.TRADE_RETCODE_LIMIT_VOLUME: "volume_limit_reached",
    mt5.TRADE_RETCODE_CLIENT_DISABLES_AT: "trading_disabled",
    mt5.TRADE_RETCODE_CONNECTION: "terminal_not_connected_to_broker",
}
DONE = (mt5.TRADE_RETCODE_DONE, mt5.TRADE_RETCODE_DONE_PARTIAL, mt5.TRADE_RETCODE_PLACED)
#: Ends by the state of an order in the history; any other state counts as cancelled, perhaps after fills.
ENDS = {mt5.ORDER_STATE_FILLED: "filled", mt5.ORDER_STATE_REJECTED: "rejected", mt5.ORDER_STATE_EXPIRED: "expired"}


def is_open(execution: Optional[Execution]) -> bool:
    """Whether news may come: an `unknown` order may show later, and is corrected as long as the journal has it."""
    return execution is not None and (not execution.is_final or (execution.state or {}).get("status") == "unknown")


def utc_of(server_ms: int, order: Any, signal_ms: int) -> str:
    """
    MetaTrader's times are those of the broker's server, and the package does not tell its zone. An order is set up within
    minutes of its signal, whose time is UTC, so the rest is the zone, in half hours. If the server has changed to daylight
    saving time since, the result is an hour late: a fill is never later than now. After the change back it is early.
    """
    zone_ms = round((order.time_setup_msc - signal_ms) / HALF_HOUR_MS) * HALF_HOUR_MS
    return datetime.fromtimestamp(min((server_ms - zone_ms) / 1000, time.time()), timezone.utc).isoformat()


def filled_of(fills: List[Fill]) -> float:
    return round(sum(fill["quantity"] for fill in fills), 8)


class MetaTrader5Terminal(Plugin):
    #: Commands that have not certainly ended, by executionId.
    open: Dict[str, Submit]

    def restore(self, executions: Mapping[str, Execution]) -> None:
        self.open = {key: e.submit for key, e in executions.items() if is_open(e)}

    def submit(self, command: Submit) -> None:
        key, order = command["executionId"], command["payload"]
        fault = fault_of(command, ["order/submit"], without=["stopPrice", "timeInForce", "comment"])
        if fault is None and not mt5.symbol_select(order["instrument"], True):
            fault = Fault("unknown_instrument", f"The terminal has no {order['instrument']}.")
        request = None if fault is not None else self.request_of(key, order)
        if fault is None and request is None:
            fault = Fault("no_quotes", f"The terminal has no price for {order['instrument']}.")
        if fault is not None:
            rejected: Evidence = {"status": "rejected", "reasonCode": fault.reasonCode, "native": {"text": fault.text}}
            return self.report(key, rejected)
        self.open[key] = command
        result = mt5.order_send(request)
        if result is not None and result.retcode in REJECTIONS:
            del self.open[key]
            return self.report(key, {"status": "rejected", "reasonCode": REJECTIONS[result.retcode],
                                     "native": {"code": result.retcode, "text": result.comment}})
        if result is None or result.retcode not in DONE:
            return self.report(key, {"status": "unknown", "native": {"text": f"order_send: {mt5.last_error()}"}})
        self.follow(key)
        if self.execution(key).state is None:  # type: ignore[union-attr]
            self.report(key, {"status": "submitted", "native": {"orderId": str(result.order)}})

    def request_of(self, key: str, order: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """None if there is no price for a market order: a symbol that was selected only now may have none yet."""
        is_buy, symbol = order["side"] == "buy", order["instrument"]
        request = {"symbol": symbol, "volume": float(order["quantity"]), "comment": short_id(key),
                   "sl": order.get("stopLoss", 0.0), "tp": order.get("takeProfit", 0.0)}
        if order["executionType"] == "limit":
            return {**request, "action": mt5.TRADE_ACTION_PENDING, "price": order["limitPrice"],
                    "type": mt5.ORDER_TYPE_BUY_LIMIT if is_buy else mt5.ORDER_TYPE_SELL_LIMIT,
                    "type_time": mt5.ORDER_TIME_GTC, "type_filling": mt5.ORDER_FILLING_RETURN}
        tick, info = mt5.symbol_info_tick(symbol), mt5.symbol_info(symbol)
        if tick is None or info is None:
            return None
        # Bit 1 of filling_mode: fill or kill; bit 2: immediate or cancel.
        filling = mt5.ORDER_FILLING_FOK if info.filling_mode & 1 else mt5.ORDER_FILLING_IOC
        return {**request, "action": mt5.TRADE_ACTION_DEAL, "price": tick.ask if is_buy else tick.bid,
                "type": mt5.ORDER_TYPE_BUY if is_buy else mt5.ORDER_TYPE_SELL, "deviation": 20,
                "type_filling": filling if info.filling_mode & 3 else mt5.ORDER_FILLING_RETURN}

    def poll(self) -> None:
        for key in list(self.open):
            self.follow(key)

    def follow(self, key: str) -> None:
        """Reports what MetaTrader knows of the order and is not reported yet."""
        for evidence in self.evidence_of(key):
            self.report(key, evidence)
        if not is_open(self.execution(key)):
            self.open.pop(key, None)

    def evidence_of(self, key: str) -> List[Evidence]:
        order, known = self.find(key), self.execution(key)
        if order is None or known is None:
            return []
        fills: List[Fill] = list(known.fills)
        news: List[Evidence] = []
        native: Any = {"orderId": str(order.ticket), "state": str(order.state)}
        deals = mt5.history_deals_get(ticket=order.ticket)
        if deals is None:
            return []  # MetaTrader does not answer; the next poll asks again.
        for deal in deals:
            if any(fill["fillId"] == str(deal.ticket) for fill in fills):
                continue
            fill: Fill = {"fillId": str(deal.ticket), "price": deal.price, "quantity": deal.volume,
                          "filledAt": utc_of(deal.time_msc, order, known.submit["ts"])}
            fills.append(fill)
            filled = filled_of(fills)
            left = round(order.volume_initial - filled, 8)
            news.append({"status": "partially_filled" if left > 0 else "filled", "fill": fill, "filledQuantity": filled,
                         "remainingQuantity": max(0.0, left), "native": native})
        if order.time_done and filled_of(fills) < round(order.volume_initial - order.volume_current, 8):
            return news  # Its other deals show later, and would be missed once the end is reported.
        status = ENDS.get(order.state, "cancelled") if order.time_done else "working"
        latest = news[-1]["status"] if news else (known.state or {}).get("status")
        if status != latest and latest != "filled" and (order.time_done or not fills):
            news.append({"status": status, "native": native})
        return news

    def find(self, key: str) -> Optional[Any]:
        """Finds the order by its comment, among the open orders first, then in the history."""
        now = datetime.now(timezone.utc)
        places = (mt5.orders_get(), mt5.history_orders_get(now - HISTORY, now + timedelta(days=2)))
        if None in places:
            raise RuntimeError(f"MetaTrader does not answer: {mt5.last_error()}")
        return next((order for place in places for order in place if order.comment == short_id(key)), None)

    def in_doubt(self, command: Submit) -> Union[Evidence, str, None]:
        """An order that was sent may show later: one that does not show is unknown, and never sent again."""
        key = command["executionId"]
        self.open[key] = command
        if self.find(key) is None:
            return super().in_doubt(command)
        self.follow(key)
        return None

    def cancel(self, cancel_request_id: str, execution_id: str) -> None:
        order = self.find(execution_id)
        if order is None or order.time_done:
            known = order is not None
            return self.cancel_report(cancel_request_id, {"status": "too_late"} if known else {
                "status": "rejected", "reasonCode": "order_unknown_at_terminal"})
        result = mt5.order_send({"action": mt5.TRADE_ACTION_REMOVE, "order": order.ticket})
        self.follow(execution_id)
        if result is None:
            return self.cancel_report(cancel_request_id, {"status": "unknown"})
        if result.retcode in DONE:
            return self.cancel_report(cancel_request_id, {"status": "cancelled"})
        native: Any = {"code": result.retcode, "text": result.comment}
        if result.retcode in REJECTIONS or result.retcode == mt5.TRADE_RETCODE_FROZEN:
            return self.cancel_report(cancel_request_id, {"status": "rejected", "reasonCode": "unable_to_cancel",
                                                          "native": native})
        self.cancel_report(cancel_request_id, {"status": "unknown", "native": native})


def main() -> None:
    url = os.environ["SIGNALBOX_URL"]
    platform, instance_id, account_name, journal_dir = sys.argv[1:]
    if not mt5.initialize():
        sys.exit(f"No MetaTrader 5 terminal: {mt5.last_error()}")
    account = mt5.account_info()
    if f"{account.login}@{account.server}" != account_name:
        sys.exit(f"The terminal is logged in to {account.login}@{account.server}, not to {account_name}.")
    try:
        token = log_in(url, os.environ["SIGNALBOX_EMAIL"], os.environ["SIGNALBOX_PASSWORD"])
        source = Source(platform, instance_id, account_name)
        terminal = MetaTrader5Terminal(url, lambda: token, source, journal_dir)
        signal.signal(signal.SIGTERM, lambda *_: terminal.stop())
        terminal.run()
    except (Refused, JournalRefused, LoginRefused) as error:
        sys.exit(f"{error}")
    finally:
        mt5.shutdown()


if __name__ == "__main__":
    main()
