// A terminal of the tests whose broker outlives it: a file with a line for each order that was placed. An order is in
// it twice if a command was executed twice. The last argument says whether the process kills itself before or after it
// places an order.
//
//     ledger.exe PLATFORM INSTANCE ACCOUNT JOURNAL LEDGER never|before|after
using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using Signalbox;

sealed class LedgerTerminal : SignalboxPlugin
{
    readonly string ledger, dies;

    LedgerTerminal(string url, Func<string> token, string[] names) : base(url, token, names[0], names[1], names[2], names[3])
    {
        ledger = names[4];
        dies = names[5];
    }

    void Die(string where)
    {
        if (dies == where) Process.GetCurrentProcess().Kill();
    }

    protected override void Submit(Execution command)
    {
        Die("before");
        Submit(command.ExecutionId);
        Die("after");
        Report(command.ExecutionId, Filled(command));
    }

    void Submit(string executionId) { File.AppendAllText(ledger, executionId + "\n"); }

    protected override void Cancel(string cancelRequestId, string executionId)
    {
        CancelReport(cancelRequestId, new Fields { { "status", dies == "never" ? "cancelled" : "pending" } });
    }

    protected override Fields InDoubt(Execution command)
    {
        var isPlaced = File.Exists(ledger) && File.ReadAllLines(ledger).Contains(command.ExecutionId);
        return isPlaced ? Filled(command) : Execute;
    }

    protected override Fields Snapshot()
    {
        var rows = Enumerable.Range(0, 2000).Select(number => new Fields { { "orderId", number.ToString().PadLeft(100, '0') } });
        if (dies == "crowded") return new Fields { { "positions", rows.ToList() } };
        return new Fields { { "orders", rows.ToList() }, { "ordersOmitted", 5 } };
    }

    static Fields Filled(Execution command)
    {
        var quantity = command.Payload.Number("quantity");
        return new Fields {
            { "status", "filled" }, { "filledQuantity", quantity }, { "remainingQuantity", 0 }, { "fill", Fill("1", 5000, quantity) },
        };
    }

    static void Main(string[] names)
    {
        UptimeFile = Environment.GetEnvironmentVariable("UPTIME_FILE") ?? UptimeFile;
        var url = Environment.GetEnvironmentVariable("SIGNALBOX_URL");
        var email = Environment.GetEnvironmentVariable("SIGNALBOX_EMAIL");
        var token = LogIn(url, email, Environment.GetEnvironmentVariable("SIGNALBOX_PASSWORD"));
        new LedgerTerminal(url, () => token, names).Run();
    }
}
