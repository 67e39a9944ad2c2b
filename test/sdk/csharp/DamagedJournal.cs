// A damaged journal is refused. Exits with 1 unless its lock is free afterwards: the terminal's process goes on, and starts
// the plugin again once the file is moved away.
//
//     damaged.exe JOURNAL
using System;
using System.IO;
using Signalbox;

static class DamagedJournal
{
    static int Main(string[] args)
    {
        var source = new Fields { { "platform", "terminal_a" }, { "instanceId", "desk-1" }, { "accountName", "Sim101" } };
        using (new Journal(args[0], source)) { }
        var path = Directory.GetFiles(args[0], "*.journal")[0];
        File.AppendAllText(path, "{\n");
        return IsRefused(args[0], source) && IsFree(path + ".lock") ? 0 : 1;
    }

    static bool IsRefused(string directory, Fields source)
    {
        try { new Journal(directory, source); }
        catch (IOException) { return true; }
        return false;
    }

    static bool IsFree(string path)
    {
        try { using (new FileStream(path, FileMode.Open, FileAccess.ReadWrite, FileShare.None)) return true; }
        catch (IOException) { return false; }
    }
}
