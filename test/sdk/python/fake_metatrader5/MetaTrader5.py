"""
A fake of the package MetaTrader5: the names and shapes that the example uses, with this behaviour only.

- Market orders fill at once at 1.1. A limit order rests until it is removed. GBPUSD has no quotes.
- The server's clock is 3 hours ahead of UTC, with the file FAKE_METATRADER5.summer 4 hours. A limit order of 80 fills then.
- A volume above 100 is refused for lack of money. The removal of a volume of 70 times out, that of 71 is frozen.
- A volume of 50 is placed without an answer. A volume of 60 is placed, and ends the caller's process.
- While the file FAKE_METATRADER5.hides exists, orders of 50 and 60 are not shown. Each query adds a byte to the file.
- While the file FAKE_METATRADER5.lags exists, deals are not shown, and every other query fails. It gets bytes, too.

The environment variable FAKE_METATRADER5 names the file of the orders, so that they outlive the process, as those of a
terminal do.
"""

import json
import os
import time
from types import SimpleNamespace

(TRADE_ACTION_DEAL, TRADE_ACTION_PENDING, TRADE_ACTION_REMOVE) = (1, 5, 8)
(ORDER_TYPE_BUY, ORDER_TYPE_SELL, ORDER_TYPE_BUY_LIMIT, ORDER_TYPE_SELL_LIMIT) = range(4)
(ORDER_FILLING_FOK, ORDER_FILLING_IOC, ORDER_FILLING_RETURN, ORDER_TIME_GTC) = (0, 1, 2, 0)
(ORDER_STATE_PLACED, ORDER_STATE_CANCELED, ORDER_STATE_FILLED) = (1, 2, 4)
(ORDER_STATE_REJECTED, ORDER_STATE_EXPIRED) = (5, 6)
TRADE_RETCODE_REQUOTE, TRADE_RETCODE_REJECT, TRADE_RETCODE_PLACED = 10004, 10006, 10008
TRADE_RETCODE_DONE, TRADE_RETCODE_DONE_PARTIAL, TRADE_RETCODE_INVALID = 10009, 10010, 10013
TRADE_RETCODE_INVALID_VOLUME, TRADE_RETCODE_INVALID_PRICE, TRADE_RETCODE_TRADE_DISABLED = 10014, 10015, 10017
TRADE_RETCODE_MARKET_CLOSED, TRADE_RETCODE_NO_MONEY, TRADE_RETCODE_PRICE_OFF = 10018, 10019, 10021
TRADE_RETCODE_TOO_MANY_REQUESTS, TRADE_RETCODE_CLIENT_DISABLES_AT, TRADE_RETCODE_CONNECTION = 10024, 10027, 10031
TRADE_RETCODE_TIMEOUT, TRADE_RETCODE_FROZEN = 10012, 10029
TRADE_RETCODE_LIMIT_ORDERS, TRADE_RETCODE_LIMIT_VOLUME = 10033, 10034


def _orders():
    path = os.environ["FAKE_METATRADER5"]
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [SimpleNamespace(**order) for order in json.load(file)]


def _store(orders):
    draft = os.environ["FAKE_METATRADER5"] + ".new"
    with open(draft, "w") as file:
        json.dump([vars(order) for order in orders], file)
    os.replace(draft, os.environ["FAKE_METATRADER5"])


def _looks(ending):
    """How often there was such a look while there is the file; 0 without it."""
    try:
        with open(os.environ["FAKE_METATRADER5"] + ending, "r+") as looks:
            looks.seek(0, os.SEEK_END)
            looks.write(".")
            return looks.tell()
    except FileNotFoundError:
        return 0


def _server_ms():
    zone_hours = 4 if os.path.exists(os.environ["FAKE_METATRADER5"] + ".summer") else 3
    return int((time.time() + zone_hours * 3600) * 1000)


def _fill_in_summer():
    orders = _orders()
    rests = [order for order in orders if order.volume_initial == 80 and not order.time_done]
    if not rests or not os.path.exists(os.environ["FAKE_METATRADER5"] + ".summer"):
        return
    for order in rests:
        order.state, order.volume_current, order.time_done_msc = ORDER_STATE_FILLED, 0, _server_ms()
        order.time_done = order.time_done_msc // 1000
    _store(orders)


def _shown():
    _fill_in_summer()
    is_hidden = _looks(".hides") > 0
    return [order for order in _orders() if not is_hidden or order.volume_initial not in (50, 60)]


def initialize():
    return True


def shutdown():
    pass


def last_error():
    return (1, "Success")


def account_info():
    return SimpleNamespace(login=1234567, server="Broker-Demo")


def symbol_select(symbol, enable):
    return symbol in ("EURUSD", "GBPUSD")


def symbol_info(symbol):
    return SimpleNamespace(filling_mode=2)


def symbol_info_tick(symbol):
    return SimpleNamespace(ask=1.1, bid=1.1) if symbol == "EURUSD" else None


def order_send(request):
    orders = _orders()
    if request["action"] == TRADE_ACTION_REMOVE:
        order = next(o for o in orders if o.ticket == request["order"])
        if order.volume_initial in (70, 71):
            retcode = TRADE_RETCODE_TIMEOUT if order.volume_initial == 70 else TRADE_RETCODE_FROZEN
            return SimpleNamespace(retcode=retcode, order=order.ticket, comment="not done")
        order.state, order.time_done = ORDER_STATE_CANCELED, _server_ms() // 1000
        _store(orders)
        return SimpleNamespace(retcode=TRADE_RETCODE_DONE, order=order.ticket, comment="done")
    if request["volume"] > 100:
        return SimpleNamespace(retcode=TRADE_RETCODE_NO_MONEY, order=0, comment="No money")
    is_filled, now_ms = request["action"] == TRADE_ACTION_DEAL, _server_ms()
    order = SimpleNamespace(
        ticket=1000 + len(orders), comment=request["comment"], volume_initial=request["volume"],
        volume_current=0 if is_filled else request["volume"],
        state=ORDER_STATE_FILLED if is_filled else ORDER_STATE_PLACED, time_setup_msc=now_ms,
        time_done=now_ms // 1000 if is_filled else 0, time_done_msc=now_ms if is_filled else 0)
    _store(orders + [order])
    if request["volume"] == 60:
        os._exit(9)
    if request["volume"] == 50:
        return None
    return SimpleNamespace(retcode=TRADE_RETCODE_DONE, order=order.ticket, comment="done")


def orders_get():
    return tuple(order for order in _shown() if not order.time_done)


def history_orders_get(date_from, date_to):
    return tuple(order for order in _shown() if order.time_done)


def history_deals_get(ticket):
    looks = _looks(".lags")
    if looks > 0:
        return None if looks % 2 == 0 else ()
    return tuple(
        SimpleNamespace(ticket=order.ticket + 5000, price=1.1, volume=order.volume_initial, time_msc=order.time_done_msc)
        for order in _orders() if order.ticket == ticket and order.state == ORDER_STATE_FILLED)
