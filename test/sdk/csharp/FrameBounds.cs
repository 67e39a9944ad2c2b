// A plugin that reports each frame from standard input, one a line. Prints for each the exception's message, an empty line if
// the plugin takes the frame, or `false` if it drops the event; then how many cancel reports its journal holds.
//
//     FrameBounds.exe JOURNAL < FRAMES
using System;
using System.IO;
using System.Linq;
using Signalbox;

sealed class Sender : SignalboxPlugin
{
    Sender(string journal) : base("http://127.0.0.1:1", () => "token", "terminal_a", "desk-1", "Sim101", journal) { }

    protected override void Submit(Execution command) { }

    static void Main(string[] args)
    {
        var sender = new Sender(args[0]);
        sender.Stop();
        string line;
        // Of another locale, such as C, the characters of a frame would be other ones.
        Console.InputEncoding = System.Text.Encoding.UTF8;
        while ((line = Console.In.ReadLine()) != null)
        {
            try { Console.WriteLine(sender.Send((Fields)Json.Read(line)) ? "" : "false"); }
            catch (ArgumentException error) { Console.WriteLine(error.Message); }
        }
        sender.Run();
        var lines = File.ReadAllLines(Directory.GetFiles(args[0], "*.journal").Single());
        Console.WriteLine(lines.Count(each => each.Contains("cancel_report")));
    }

    bool Send(Fields frame)
    {
        if (frame.Text("type") == "event") return Event(frame.Text("event"), frame.Inner("data"));
        var evidence = new Fields();
        foreach (var pair in frame) if (pair.Key != "type" && pair.Key != "cancelRequestId") evidence.Add(pair.Key, pair.Value);
        CancelReport(frame.Text("cancelRequestId"), evidence);
        return true;
    }
}
