// A journal whose file cannot be replaced: a directory stands where the new file would be written. Exits with 0 if each flush
// then fails with an IOException, as on a full disk, and an entry noted after it does no harm; otherwise with 1.
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
