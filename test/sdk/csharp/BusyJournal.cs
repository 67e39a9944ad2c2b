// The journal of a busy terminal: one thread notes commands while another flushes them. Exits with 1 unless reading the file
// gives all of them.
//
//     busy.exe JOURNAL COMMANDS
using System;
using System.Threading;
using Signalbox;

static class BusyJournal
{
    static int Main(string[] args)
    {
        var source = new Fields { { "platform", "terminal_a" }, { "instanceId", "desk-1" }, { "accountName", "Sim101" } };
        var commands = int.Parse(args[1]);
        using (var journal = new Journal(args[0], source)) Fill(journal, commands);
        using (var again = new Journal(args[0], source))
        {
            Console.Error.WriteLine(again.Executions.Count + " of " + commands + " commands are read again");
            return again.Executions.Count == commands ? 0 : 1;
        }
    }

    static void Fill(Journal journal, int commands)
    {
        var mutex = new object();
        var isDone = false;
        var flusher = new Thread(() => { while (!Volatile.Read(ref isDone)) journal.Sync(mutex); });
        flusher.Start();
        for (var number = 0; number < commands; number++)
        {
            var submit = new Fields { { "executionId", "exe_" + number }, { "expiresAt", "2999-01-01T00:00:00.000Z" } };
            lock (mutex)
            {
                journal.Note("execution", new Fields { { "submit", submit } });
                // So that the file is replaced now and then.
                for (var more = 0; more < 3; more++) journal.Note("acknowledged", new Fields { { "seq", 0L } });
            }
        }
        Volatile.Write(ref isDone, true);
        flusher.Join();
        journal.Sync(mutex);
    }
}
