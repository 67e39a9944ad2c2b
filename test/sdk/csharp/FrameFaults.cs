// Judges frames from standard input, one a line: prints the field that the gateway would refuse, or an empty line. Then makes
// a report that the gateway would refuse, and a report and an event that JSON cannot hold: prints each exception's message,
// and exits with 1 if the journal has any of them.
//
//     FrameFaults.exe JOURNAL < FRAMES
using System;
using System.IO;
using System.Linq;
using Signalbox;

sealed class Idle : SignalboxPlugin
{
    Idle(string journal) : base("http://127.0.0.1:1", () => "token", "terminal_a", "desk-1", "Sim101", journal) { }

    protected override void Submit(Execution command) { }

    static int Main(string[] args)
    {
        string line;
        // Of another locale, such as C, the characters of a frame would be other ones.
        Console.InputEncoding = System.Text.Encoding.UTF8;
        while ((line = Console.In.ReadLine()) != null) Console.WriteLine(FrameFault.In((Fields)Json.Read(line)));
        var idle = new Idle(args[0]);
        idle.Stop();
        Tell(() => idle.CancelReport("can_1", new Fields { { "status", "rejected" }, { "reasonCode", "margin_call" } }));
        var native = new Fields { { "code", DayOfWeek.Monday } };
        Tell(() => idle.CancelReport("can_1", new Fields { { "status", "rejected" }, { "native", native } }));
        Tell(() => idle.Event("order_update", new Fields { { "ofItsOwn", DayOfWeek.Monday } }));
        idle.Run();
        return File.ReadAllText(Directory.GetFiles(args[0], "*.journal").Single()).Contains("can_1") ? 1 : 0;
    }

    static void Tell(Action work)
    {
        try { work(); }
        catch (ArgumentException error) { Console.WriteLine(error.Message); }
    }
}
