// What is unknown is kept for 30 days, and another end for 2; then two commands come. Exits with 1 unless the journal has just
// what it must, in the order in which it came.
//
//     kept.exe JOURNAL
using System;
using System.IO;
using Signalbox;

static class KeptJournal
{
    static int Main(string[] args)
    {
        var source = new Fields { { "platform", "terminal_a" }, { "instanceId", "desk-1" }, { "accountName", "Sim101" } };
        using (new Journal(args[0], source)) { }
        var path = Directory.GetFiles(args[0], "*.journal")[0];
        foreach (var days in new[] { 1, 3, 29, 31 })
            foreach (var status in new[] { "unknown", "filled" })
                File.AppendAllText(path, Entry(days, status) + "\n");
        using (var journal = new Journal(args[0], source))
        {
            foreach (var id in new[] { "first", "second" })
                journal.Note("execution", new Fields { { "submit", new Fields { { "executionId", id } } } });
            var kept = string.Join(" ", journal.Executions.Keys);
            Console.Error.WriteLine(kept);
            return kept == "unknown1 filled1 unknown3 unknown29 first second" ? 0 : 1;
        }
    }

    static string Entry(int days, string status)
    {
        var at = Words.Time(DateTime.UtcNow.AddDays(-days));
        var submit = new Fields { { "executionId", status + days }, { "expiresAt", at } };
        var state = new Fields { { "status", status } };
        return Json.Write(new Fields { { "kind", "execution" }, { "at", at }, { "submit", submit }, { "state", state } });
    }
}
