// A paper terminal on the plugin base: market orders fill at once at 5000, a limit order that does not cross rests. A
// terminal of your own replaces Trade, and asks its broker in InDoubt and Cancel.
//
//     mcs -langversion:5 -out:paper.exe SignalboxPlugin.cs examples/PaperTerminal.cs
//     SIGNALBOX_URL=http://127.0.0.1:8080 SIGNALBOX_EMAIL=ann@example.com SIGNALBOX_PASSWORD=… \
//         mono paper.exe terminal_a desk-1 Sim101 journal
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using Signalbox;

sealed class PaperTerminal : SignalboxPlugin
{
    const double Price = 5000;
    /// <summary>Commands of the orders that rest, by executionId.</summary>
    readonly Dictionary<string, Execution> resting = new Dictionary<string, Execution>();

    PaperTerminal(string url, Func<string> token, string[] names) : base(url, token, names[0], names[1], names[2], names[3]) { }

    protected override void Restore(IList<Execution> executions)
    {
        foreach (var execution in executions.Where(each => !each.IsFinal)) resting[execution.ExecutionId] = execution;
    }

    protected override void Submit(Execution command)
    {
        var fault = Catalog.FaultOf(command, new[] { "order/submit" }, "stopPrice", "timeInForce", "stopLoss", "takeProfit");
        Report(command.ExecutionId, fault == null ? Trade(command) : fault.Evidence());
    }

    Fields Trade(Execution command)
    {
        var order = command.Payload;
        var number = Catalog.ShortId(command.ExecutionId);
        var quantity = order.Number("quantity");
        var isBelow = order.Number("limitPrice") < Price;
        if (order.Text("executionType") == "limit" && order.Number("limitPrice") != Price && isBelow == (order.Text("side") == "buy"))
        {
            resting[command.ExecutionId] = command;
            return new Fields { { "status", "working" }, { "native", new Fields { { "orderId", number }, { "state", "Working" } } } };
        }
        return new Fields {
            { "status", "filled" }, { "filledQuantity", quantity }, { "remainingQuantity", 0 }, { "averageFillPrice", Price },
            { "fill", Fill(number + "/1", Price, quantity) },
            { "native", new Fields { { "orderId", number }, { "state", "Filled" } } },
        };
    }

    /// <summary>The broker lived in the earlier process, so no order of it is left.</summary>
    protected override Fields InDoubt(Execution command) { return Execute; }

    protected override void Cancel(string cancelRequestId, string executionId)
    {
        var isCancelled = resting.Remove(executionId);
        if (isCancelled) Report(executionId, new Fields { { "status", "cancelled" }, { "reasonCode", "cancelled_by_api" } });
        CancelReport(cancelRequestId, new Fields { { "status", isCancelled ? "cancelled" : "too_late" } });
    }

    protected override Fields Snapshot()
    {
        var orders = resting.Values.Select(each => new Fields {
            { "executionId", each.ExecutionId }, { "orderRef", each.Submit.Text("orderRef") }, { "state", "Working" } });
        return new Fields { { "account", new Fields { { "currency", "USD" } } }, { "positions", new object[0] }, { "orders", orders.ToList() } };
    }

    protected override void Connected()
    {
        Event("connection_status", new Fields { { "status", "connected" }, { "isSimulated", true } });
    }

    static void Main(string[] names)
    {
        var url = Environment.GetEnvironmentVariable("SIGNALBOX_URL");
        var email = Environment.GetEnvironmentVariable("SIGNALBOX_EMAIL");
        try
        {
            var token = LogIn(url, email, Environment.GetEnvironmentVariable("SIGNALBOX_PASSWORD"));
            var terminal = new PaperTerminal(url, () => token, names);
            // Enter ends the program. A kill does no harm either: the journal has everything.
            new Thread(() => { if (Console.ReadLine() != null) terminal.Stop(); }) { IsBackground = true }.Start();
            terminal.Run();
        }
        catch (Exception error)
        {
            Console.Error.WriteLine(error.Message); // A supervisor starts the program again, which then logs in.
            Environment.Exit(1); // Under Mono, a process that returns from Main after a failed login may never end.
        }
    }
}
