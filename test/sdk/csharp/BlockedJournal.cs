// A journal whose file cannot be replaced any more: a directory stands where the next file would be written. Ends with 1
// unless that fails as a full disk does, and what is noted then harms nothing.
//
//     blocked.exe JOURNAL
using System;
using System.IO;
using Signalbox;

static class BlockedJournal
{
    static int Main(string[] args)
    {
        var source = new Fields { { "platform", "terminal_a" }, { "instanceId", "desk-1" }, { "accountName", "Sim101" } };
        using (var journal = new Journal(args[0], source))
        {
            Directory.CreateDirectory(Directory.GetFiles(args[0], "*.journal")[0] + ".new");
            for (var lines = 0; lines < 20001; lines++) journal.Note("acknowledged", new Fields { { "seq", 0L } });
            return Fails(journal) && Fails(journal) ? 0 : 1;
        }
    }

    static bool Fails(Journal journal)
    {
        try { journal.Sync(new object()); }
        catch (IOException)
        {
            journal.Note("acknowledged", new Fields { { "seq", 0L } });
            return true;
        }
        return false;
    }
}
