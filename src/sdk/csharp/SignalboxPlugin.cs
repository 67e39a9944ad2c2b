// The base of a plugin for a trading terminal that runs .NET: derive from SignalboxPlugin, write functions that
// trade, call Run. One file, C# 5, no packages: .NET Framework 4.8 and Mono.
//
// Speaks version 1 of the plugin protocol (PROTOCOL.md) and does what every plugin needs: stores each command durably
// before it acknowledges it, hands it over once, keeps each report until the gateway has it, reconnects.
//
// Three threads: the one of Run receives, without a pause, because a WebSocket answers pings only while a receive is
// pending; one flushes the journal and sends, because a WebSocket takes one send at a time; one calls the terminal,
// so that a broker's call may take its time.
using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Net.WebSockets;
using System.Reflection;
using System.Security.Authentication;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

namespace Signalbox
{
    /// <summary>A JSON object. Fields without a value are left out: a field is never null.</summary>
    public sealed class Fields : Dictionary<string, object>
    {
        public new void Add(string name, object value)
        {
            if (value != null) this[name] = value;
        }

        public object Get(string name)
        {
            object value;
            return TryGetValue(name, out value) ? value : null;
        }

        /// <summary>The text of a field; null if it is absent or no text.</summary>
        public string Text(string name) { return Get(name) as string; }

        /// <summary>The number of a field; NaN if it is absent or no number.</summary>
        public double Number(string name)
        {
            var value = Get(name);
            return value is long ? (long)value : value is double ? (double)value : value is int ? (int)value : double.NaN;
        }

        public Fields Inner(string name) { return Get(name) as Fields; }

        public Fields With(Fields more)
        {
            var all = new Fields();
            foreach (var pair in this) all[pair.Key] = pair.Value;
            foreach (var pair in more) all[pair.Key] = pair.Value;
            return all;
        }
    }

    /// <summary>The plugin has stopped and must not reconnect by itself.</summary>
    public sealed class RefusedException : Exception
    {
        /// <summary>A code, such as `replaced` or `session_refused`.</summary>
        public readonly string Reason;

        public RefusedException(string reason, string message) : base(message) { Reason = reason; }
    }

    /// <summary>A command of the gateway, and what was reported of it.</summary>
    public sealed class Execution
    {
        public string ExecutionId { get { return Submit.Text("executionId"); } }
        /// <summary>The frame, as it came; its payload is dropped once the execution is final.</summary>
        public Fields Submit;
        /// <summary>`type/cmd` of the signal, such as `order/submit`.</summary>
        public string Name { get { return Submit.Text("signalType") + "/" + Submit.Text("cmd"); } }
        public Fields Payload { get { return Submit.Inner("payload"); } }
        /// <summary>The latest report, without its fill; null until the terminal has reported.</summary>
        public Fields State;
        public readonly List<Fields> Fills = new List<Fields>();
        internal DateTime At;

        public string Status { get { return State == null ? null : State.Text("status"); } }
        public bool IsFinal { get { return State != null && Words.Final.Contains(Status); } }
    }

    /// <summary>Why a command is rejected.</summary>
    public sealed class Fault
    {
        public readonly string ReasonCode, Text;

        public Fault(string reasonCode, string text) { ReasonCode = reasonCode; Text = text; }

        public Fields Evidence()
        {
            return new Fields {
                { "status", "rejected" }, { "reasonCode", ReasonCode }, { "native", new Fields { { "text", Text } } }
            };
        }
    }

    internal static class Words
    {
        internal const int FrameBytesMax = 131072;
        /// <summary>Levels of nesting in a frame that the gateway takes.</summary>
        internal const int FrameDepthMax = 64;
        /// <summary>The gateway takes no seq above it.</summary>
        internal const long SeqMax = 9007199254740991;
        internal static readonly string[] Final = { "filled", "completed", "cancelled", "rejected", "expired", "unknown" };
        internal static readonly string[] Statuses = Final.Concat(new[] { "submitted", "working", "partially_filled" }).ToArray();
        internal static readonly string[] CancelStatuses = { "pending", "cancelled", "rejected", "too_late", "unknown" };

        internal static string Time(DateTime utc)
        {
            return utc.ToString("yyyy-MM-dd'T'HH:mm:ss.fff'Z'", CultureInfo.InvariantCulture);
        }

        internal static DateTime Time(string iso)
        {
            return DateTime.Parse(iso, CultureInfo.InvariantCulture, DateTimeStyles.AdjustToUniversal | DateTimeStyles.AssumeUniversal);
        }

        internal static Fields Without(Fields fields, params string[] names)
        {
            var rest = new Fields();
            foreach (var pair in fields) if (!names.Contains(pair.Key)) rest.Add(pair.Key, pair.Value);
            return rest;
        }
    }

    /// <summary>Checks reports and events as the gateway does: one that it refuses would be sent again for ever.</summary>
    internal static class FrameFault
    {
        /// <summary>Returns null if the value is right, else the path of the fault in it; empty for the value itself.</summary>
        delegate string Judge(object value);

        const int IdMax = 128;
        /// <summary>Longest texts of `native`.</summary>
        internal static readonly Dictionary<string, int> NativeMax = new Dictionary<string, int> {
            { "orderId", IdMax }, { "state", IdMax }, { "code", IdMax }, { "text", 8192 },
        };

        static readonly string[] ReasonCodes = (
            "ttl_expired no_active_terminal terminal_offline terminal_capability_missing account_frozen trading_halted key_revoked " +
            "too_many_executions unknown_command missing_field invalid_field unsupported_execution_type missing_limit_price " +
            "invalid_quantity invalid_price unknown_instrument unknown_account trading_disabled terminal_not_connected_to_broker " +
            "plugin_error market_closed insufficient_funds price_changed no_quotes too_many_requests order_limit_reached " +
            "volume_limit_reached broker_rejected time_in_force_expired cancelled_by_api cancelled_by_operator " +
            "cancel_after_expired cancelled_in_terminal cancelled_by_broker confirmation_timeout disconnected_after_send " +
            "gateway_restarted already_filled already_cancelled order_unknown_at_terminal unable_to_cancel cancel_timeout " +
            "terminal_lost_before_send").Split(' ');
        static readonly Regex TimePattern = new Regex(
            @"\A[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?" +
            @"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])\z");

        static readonly Judge Id = Text(1, IdMax), AnyText = Text(0, int.MaxValue), Time = Is(value => value is string && TimePattern.IsMatch((string)value));
        static readonly Judge Number = Is(IsNumber), Flag = Is(value => value is bool);
        static readonly Judge Price = Is(value => IsNumber(value) && Math.Abs(ToDouble(value)) <= 1e18);
        static readonly Judge Amount = Is(value => IsNumber(value) && ToDouble(value) >= 0 && ToDouble(value) <= 1e18);
        static readonly Judge Object = Is(value => value is IDictionary<string, object>);
        static readonly Judge Objects = Is(value => value is IEnumerable && !(value is string) && !(value is IDictionary<string, object>)
            && ((IEnumerable)value).Cast<object>().All(item => item is IDictionary<string, object>));
        static readonly Judge Native = Shape("", new Dictionary<string, Judge> {
            { "orderId", Text(1, NativeMax["orderId"]) }, { "state", Text(0, NativeMax["state"]) }, { "text", Text(0, NativeMax["text"]) },
            { "code", Is(value => IsNumber(value) || Text(0, NativeMax["code"])(value) == null) },
        });
        static readonly Judge Fill = Shape("fillId price quantity filledAt", new Dictionary<string, Judge> {
            { "fillId", Id }, { "price", Price }, { "filledAt", Time },
            { "quantity", Is(value => IsNumber(value) && ToDouble(value) > 0 && ToDouble(value) <= 1e18) },
        });
        /// <summary>Fields of the `data` of each event; others may be anything.</summary>
        static readonly Dictionary<string, Judge> Data = new Dictionary<string, Judge> {
            { "command_result", DataOf("status reasonCode", "") },
            { "order_update", DataOf("orderId state instrument side executionType", "limitPrice quantity filledQuantity remainingQuantity averageFillPrice") },
            { "execution_update", DataOf("fillId orderId instrument side filledAt", "quantity price") },
            { "position_update", DataOf("instrument side", "quantity averagePrice marketPrice") },
            { "cancel_update", DataOf("cancelRequestId status reasonCode", "") },
            { "account_update", DataOf("currency", "balance equity realizedProfit unrealizedProfit") },
            { "account_status", DataOf("status", "", new Dictionary<string, Judge> { { "tradingEnabled", Flag }, { "isSimulated", Flag } }) },
            { "connection_status", DataOf("status", "", new Dictionary<string, Judge> { { "isSimulated", Flag } }) },
            { "source_status", DataOf("status", "") },
            { "state_snapshot", DataOf("snapshotId", "ordersOmitted", new Dictionary<string, Judge> {
                { "account", Object }, { "positions", Objects }, { "orders", Objects } }) },
            { "terminal_message", DataOf("text level reason", "dropped") },
        };
        static readonly Dictionary<string, Judge> Frames = new Dictionary<string, Judge> {
            { "report", Shape("executionId status", new Dictionary<string, Judge> {
                { "executionId", Id }, { "status", OneOf(Words.Statuses) }, { "reasonCode", OneOf(ReasonCodes) }, { "filledQuantity", Amount },
                { "remainingQuantity", Amount }, { "averageFillPrice", Price }, { "fill", Fill }, { "native", Native }, { "occurredAt", Time } }) },
            { "cancel_report", Shape("cancelRequestId status", new Dictionary<string, Judge> {
                { "cancelRequestId", Id }, { "status", OneOf(Words.CancelStatuses) }, { "reasonCode", OneOf(ReasonCodes) },
                { "native", Native }, { "occurredAt", Time } }) },
            { "event", Shape("event", new Dictionary<string, Judge> {
                { "event", OneOf(Data.Keys.ToArray()) }, { "occurredAt", Time }, { "data", Object }, { "rawText", AnyText },
                { "executionId", Id }, { "orderRef", Id } }) },
        };

        /// <summary>The first field that the gateway would refuse, such as `fill.price`; null if it takes the frame.</summary>
        internal static string In(Fields frame)
        {
            var path = Frames[frame.Text("type")](frame);
            if (path == null && frame.Text("type") == "event" && frame.ContainsKey("data"))
            {
                path = Data[frame.Text("event")](frame["data"]);
                if (path != null) path = ".data" + path;
            }
            return path == null ? null : path.Substring(1);
        }

        static Judge Shape(string needed, Dictionary<string, Judge> fields)
        {
            var names = needed.Split(new[] { ' ' }, StringSplitOptions.RemoveEmptyEntries);
            return value =>
            {
                var given = value as IDictionary<string, object>;
                if (given == null) return "";
                foreach (var name in names) if (!given.ContainsKey(name)) return "." + name;
                foreach (var pair in fields)
                {
                    object inner;
                    var path = given.TryGetValue(pair.Key, out inner) ? pair.Value(inner) : null;
                    if (path != null) return "." + pair.Key + path;
                }
                return null;
            };
        }

        static Judge DataOf(string texts, string numbers, Dictionary<string, Judge> others = null)
        {
            var fields = new Dictionary<string, Judge>();
            foreach (var name in texts.Split(' ')) fields[name] = OrNull(AnyText);
            foreach (var name in numbers.Split(' ')) fields[name] = OrNull(Number);
            if (others != null) foreach (var pair in others) fields[pair.Key] = OrNull(pair.Value);
            return Shape("", fields);
        }

        static Judge OrNull(Judge judge) { return value => value == null ? null : judge(value); }

        static Judge Is(Func<object, bool> isRight) { return value => isRight(value) ? null : ""; }

        static Judge OneOf(string[] values) { return Is(value => value is string && values.Contains((string)value)); }

        static Judge Text(int min, int max) { return Is(value => value is string && ((string)value).Length >= min && ((string)value).Length <= max); }

        static double ToDouble(object value) { return Convert.ToDouble(value, CultureInfo.InvariantCulture); }

        static bool IsNumber(object value)
        {
            var code = value == null || value is Enum ? TypeCode.Empty : Type.GetTypeCode(value.GetType());
            return code >= TypeCode.SByte && code <= TypeCode.Decimal && !double.IsNaN(ToDouble(value)) && !double.IsInfinity(ToDouble(value));
        }
    }

    /// <summary>The catalog of commands (COMMANDS.md).</summary>
    public static class Catalog
    {
        struct Check
        {
            internal Func<object, bool> IsRight;
            internal string ReasonCode;
        }

        static readonly string[] Required = { "instrument", "side", "executionType", "quantity" };
        static readonly Dictionary<string, string[]> PricesOf = new Dictionary<string, string[]> {
            { "market", new string[0] }, { "limit", new[] { "limitPrice" } }, { "stop", new[] { "stopPrice" } },
            { "stop_limit", new[] { "limitPrice", "stopPrice" } },
        };
        static readonly Dictionary<string, Check> Order = new Dictionary<string, Check> {
            { "instrument", Is(value => HasLength(value, 1), "invalid_field") },
            { "side", Is(value => value is string && new[] { "buy", "sell" }.Contains(value), "invalid_field") },
            { "executionType", Is(value => value is string && PricesOf.ContainsKey((string)value), "unsupported_execution_type") },
            { "quantity", Is(value => IsNumber(value) && Convert.ToDouble(value) > 0, "invalid_quantity") },
            { "limitPrice", Is(IsNumber, "invalid_price") },
            { "stopPrice", Is(IsNumber, "invalid_price") },
            { "timeInForce", Is(value => value is string && new[] { "day", "gtc", "ioc", "fok" }.Contains(value), "invalid_field") },
            { "stopLoss", Is(IsNumber, "invalid_price") },
            { "takeProfit", Is(IsNumber, "invalid_price") },
            { "comment", Is(value => HasLength(value, 0), "invalid_field") },
        };
        static readonly Dictionary<string, string[]> FieldsOf = new Dictionary<string, string[]> {
            { "order/submit", Order.Keys.ToArray() }, { "position/close", new[] { "instrument" } }, { "account/flatten", new string[0] },
        };

        /// <summary>The first reason to reject a command, or null. Unknown fields of a payload are rejected, too.</summary>
        /// <param name="commands">Those that the terminal takes.</param>
        /// <param name="without">Fields of an order that the terminal does not support.</param>
        public static Fault FaultOf(Execution command, string[] commands, params string[] without)
        {
            var payload = command.Payload;
            if (!commands.Contains(command.Name) || !FieldsOf.ContainsKey(command.Name))
                return new Fault("unknown_command", "The terminal knows " + string.Join(", ", commands) + ".");
            var known = FieldsOf[command.Name];
            foreach (var name in payload.Keys)
                if (!known.Contains(name) || without.Contains(name))
                    return new Fault("invalid_field", "The terminal does not take the field " + Cut(name, 64) + ".");
            foreach (var name in Required)
                if (known.Contains(name) && payload.Get(name) == null)
                    return new Fault("missing_field", "The payload has no " + name + ".");
            foreach (var pair in payload)
                if (!Order[pair.Key].IsRight(pair.Value))
                    return new Fault(Order[pair.Key].ReasonCode, pair.Key + " cannot be " + Cut(Json.Write(pair.Value), 80) + ".");
            var type = payload.Text("executionType") ?? "market";
            foreach (var name in new[] { "limitPrice", "stopPrice" })
            {
                if (PricesOf[type].Contains(name) == payload.ContainsKey(name)) continue;
                if (payload.ContainsKey(name)) return new Fault("invalid_field", "A " + type + " order has no " + name + ".");
                return new Fault(name == "limitPrice" ? "missing_limit_price" : "missing_field", "The payload has no " + name + ".");
            }
            return null;
        }

        /// <summary>An id for terminals with short comments: compute it again to find the order of an execution.</summary>
        public static string ShortId(string executionId)
        {
            using (var sha = SHA256.Create())
                return Hex(sha.ComputeHash(Encoding.UTF8.GetBytes(executionId))).Substring(0, 16);
        }

        internal static string Hex(byte[] bytes) { return BitConverter.ToString(bytes).Replace("-", "").ToLowerInvariant(); }

        internal static string Cut(string text, int length) { return text.Length <= length ? text : text.Substring(0, length); }

        internal static bool IsNumber(object value)
        {
            return (value is long || value is double || value is int) && Math.Abs(Convert.ToDouble(value)) <= 1e18;
        }

        static bool HasLength(object value, int min)
        {
            var text = value as string;
            return text != null && text.Length >= min && text.Length <= 64;
        }

        static Check Is(Func<object, bool> isRight, string reasonCode)
        {
            return new Check { IsRight = isRight, ReasonCode = reasonCode };
        }
    }

    /// <summary>Objects are Fields, arrays List&lt;object&gt;, numbers long or double.</summary>
    public static class Json
    {
        /// <summary>The deepest payload that an operator can allow.</summary>
        internal const int DepthMax = 128;

        /// <summary>Whether the value is nested at most so deep; an object or array is the first level of itself.</summary>
        internal static bool IsWithin(object value, int depth)
        {
            var fields = value as IDictionary<string, object>;
            if (value is string || !(value is IEnumerable)) return true;
            var inner = fields == null ? ((IEnumerable)value).Cast<object>() : fields.Values;
            return depth > 0 && inner.All(each => IsWithin(each, depth - 1));
        }

        public static string Write(object value)
        {
            var text = new StringBuilder();
            Write(text, value);
            return text.ToString();
        }

        /// <exception cref="FormatException">It is not JSON.</exception>
        public static object Read(string text) { return Read(text, DepthMax); }

        internal static object Read(string text, int depthMax)
        {
            var at = 0;
            var value = Read(text, ref at, depthMax);
            Skip(text, ref at);
            if (at < text.Length) throw new FormatException("text after the value");
            return value;
        }

        static void Write(StringBuilder text, object value)
        {
            var fields = value as IDictionary<string, object>;
            if (value == null) text.Append("null");
            else if (value is bool) text.Append((bool)value ? "true" : "false");
            else if (value is string) Quote(text, (string)value);
            else if (fields != null) Join(text, '{', fields, '}', pair => { Quote(text, pair.Key); text.Append(':'); Write(text, pair.Value); });
            else if (value is IEnumerable) Join(text, '[', ((IEnumerable)value).Cast<object>(), ']', item => Write(text, item));
            else
            {
                if (value is Enum) throw new ArgumentException("an enum is no JSON: give its name as a text, or its number");
                var number = Convert.ToDouble(value, CultureInfo.InvariantCulture);
                if (double.IsNaN(number) || double.IsInfinity(number)) throw new ArgumentException("a number is not finite");
                text.Append(value is double ? number.ToString("R", CultureInfo.InvariantCulture) : Convert.ToString(value, CultureInfo.InvariantCulture));
            }
        }

        static void Join<T>(StringBuilder text, char begin, IEnumerable<T> items, char end, Action<T> write)
        {
            text.Append(begin);
            var isFirst = true;
            foreach (var item in items)
            {
                if (!isFirst) text.Append(',');
                isFirst = false;
                write(item);
            }
            text.Append(end);
        }

        static void Quote(StringBuilder text, string value)
        {
            text.Append('"');
            foreach (var character in value)
            {
                if (character == '"' || character == '\\') text.Append('\\').Append(character);
                else if (character < ' ' || char.IsSurrogate(character)) text.Append("\\u").Append(((int)character).ToString("x4"));
                else text.Append(character);
            }
            text.Append('"');
        }

        static object Read(string text, ref int at, int depthLeft)
        {
            if (depthLeft < 0) throw new FormatException("nested too deeply");
            Skip(text, ref at);
            switch (Next(text, at))
            {
                case '{':
                    var fields = new Fields();
                    for (at++; !Ends(text, ref at, '}', fields.Count > 0); )
                    {
                        Skip(text, ref at);
                        var name = ReadText(text, ref at);
                        Skip(text, ref at);
                        Take(text, ref at, ":");
                        fields[name] = Read(text, ref at, depthLeft - 1);
                    }
                    return fields;
                case '[':
                    var items = new List<object>();
                    for (at++; !Ends(text, ref at, ']', items.Count > 0); ) items.Add(Read(text, ref at, depthLeft - 1));
                    return items;
                case '"': return ReadText(text, ref at);
                case 't': Take(text, ref at, "true"); return true;
                case 'f': Take(text, ref at, "false"); return false;
                case 'n': Take(text, ref at, "null"); return null;
            }
            var match = Number.Match(text, at);
            if (!match.Success) throw new FormatException("no value");
            at += match.Length;
            long whole;
            if (long.TryParse(match.Value, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out whole)) return whole;
            double number;
            // A number beyond any double becomes the largest double, which is above every limit and can be written.
            if (double.TryParse(match.Value, NumberStyles.Float, CultureInfo.InvariantCulture, out number) && !double.IsInfinity(number)) return number;
            return match.Value[0] == '-' ? double.MinValue : double.MaxValue;
        }

        static readonly Regex Number = new Regex(@"\G-?\d+(\.\d+)?([eE][+-]?\d+)?");

        static bool Ends(string text, ref int at, char end, bool hasItems)
        {
            Skip(text, ref at);
            if (Next(text, at) == end) { at++; return true; }
            if (hasItems) Take(text, ref at, ",");
            return false;
        }

        static string ReadText(string text, ref int at)
        {
            Take(text, ref at, "\"");
            var value = new StringBuilder();
            for (; Next(text, at) != '"'; at++)
            {
                if (text[at] != '\\') { value.Append(text[at]); continue; }
                var escaped = Next(text, ++at);
                var index = "bfnrt\"\\/".IndexOf(escaped);
                if (index >= 0) { value.Append("\b\f\n\r\t\"\\/"[index]); continue; }
                if (escaped != 'u' || at + 5 > text.Length) throw new FormatException("bad escape");
                value.Append((char)int.Parse(text.Substring(at + 1, 4), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture));
                at += 4;
            }
            at++;
            return value.ToString();
        }

        static char Next(string text, int at)
        {
            if (at >= text.Length) throw new FormatException("it ends too early");
            return text[at];
        }

        static void Take(string text, ref int at, string expected)
        {
            if (string.CompareOrdinal(text, at, expected, 0, expected.Length) != 0) throw new FormatException("expected " + expected);
            at += expected.Length;
        }

        static void Skip(string text, ref int at)
        {
            while (at < text.Length && " \t\r\n".IndexOf(text[at]) >= 0) at++;
        }
    }

    internal sealed class CancelRecord
    {
        internal string ExecutionId;
        internal Fields State;
        internal DateTime At;

        /// <summary>Whether the cancel has no outcome yet.</summary>
        internal bool IsOpen { get { return State == null || State.Text("status") == "pending"; } }
    }

    internal sealed class KeptReport
    {
        internal long? Seq;
        internal Fields Frame;
    }

    /// <summary>
    /// Commands, cancels, and reports that the gateway has not acknowledged: in memory, and in a file with one JSON
    /// object a line. Entries are written at once, so that they survive a kill, and durable after Sync.
    /// </summary>
    internal sealed class Journal : IDisposable
    {
        /// <summary>Longer than an operator can let a signal live, and so longer than a command may be redelivered.</summary>
        static readonly TimeSpan Keep = TimeSpan.FromDays(2);
        /// <summary>An unknown order may yet be carried out, as after a weekend: as long as the gateway takes reports on it.</summary>
        static readonly TimeSpan KeepUnknown = TimeSpan.FromDays(30);
        /// <summary>Above so many, executions that can no longer be redelivered are forgotten earlier.</summary>
        const int ExecutionsMax = 100000;
        const int CompactAfter = 20000;

        internal readonly Dictionary<string, Execution> Executions = new Dictionary<string, Execution>();
        internal readonly Dictionary<string, CancelRecord> Cancels = new Dictionary<string, CancelRecord>();
        /// <summary>Reports by their ids, which are in the order of the reports.</summary>
        internal readonly SortedDictionary<long, KeptReport> Reports = new SortedDictionary<long, KeptReport>();
        internal long Seq;
        readonly string path, head;
        readonly FileStream theLock;
        FileStream file;
        /// <summary>A second stream, to flush the file without the mutex: two threads must not share a FileStream.</summary>
        FileStream disk;
        long lastReportId;
        int lines;
        bool isDirty;
        Exception broken;

        internal Journal(string directory, Fields source)
        {
            head = Json.Write(new Fields { { "journal", 1L } }.With(source));
            Directory.CreateDirectory(directory);
            using (var sha = SHA256.Create())
                path = Path.Combine(directory, Catalog.Hex(sha.ComputeHash(Encoding.UTF8.GetBytes(head))).Substring(0, 24) + ".journal");
            try
            {
                theLock = new FileStream(path + ".lock", FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.ReadWrite);
                theLock.Lock(0, 1);
            }
            catch (IOException)
            {
                Dispose();
                throw new IOException("The journal " + path + " is in use by another plugin: stop that one, or use another directory.");
            }
            try
            {
                ReadAll();
                Compact();
            }
            catch (Exception)
            {
                Dispose();
                throw;
            }
        }

        public void Dispose()
        {
            foreach (var open in new[] { file, disk, theLock })
                if (open != null) open.Dispose();
        }

        /// <summary>Applies an entry and writes it. If the disk does not take it, the next Sync fails.</summary>
        internal void Note(string kind, Fields entry)
        {
            entry = new Fields { { "kind", kind }, { "at", Words.Time(DateTime.UtcNow) } }.With(entry);
            var line = Line(Json.Write(entry));
            Apply(entry);
            lines++;
            isDirty = true;
            if (broken != null) return;
            try
            {
                file.Write(line, 0, line.Length);
                file.Flush();
            }
            catch (IOException error) { broken = error; }
        }

        internal long NoteReport(Fields frame, long? seq)
        {
            Note("report", new Fields { { "id", lastReportId + 1 }, { "seq", seq }, { "frame", frame } });
            return lastReportId;
        }

        /// <summary>Makes all entries durable. Call it from one thread at a time.</summary>
        /// <param name="mutex">The one of Note; Sync holds it over a wait for the disk only to replace the file.</param>
        /// <exception cref="IOException">Some entries are not durable, and no later ones will be.</exception>
        internal void Sync(object mutex)
        {
            lock (mutex)
            {
                if (broken != null) throw new IOException(broken.Message, broken);
                if (!isDirty) return;
                isDirty = false;
            }
            try
            {
                disk.Flush(true);
            }
            catch (IOException error)
            {
                broken = error;
                throw;
            }
            lock (mutex)
            {
                var kept = Executions.Count + Cancels.Count + Reports.Count;
                if (broken != null || lines <= Math.Max(CompactAfter, 2 * kept)) return;
                try { Compact(); }
                catch (Exception error) // UnauthorizedAccessException, too; the file may be closed by now.
                {
                    broken = error;
                    throw new IOException(error.Message, error);
                }
            }
        }

        void Apply(Fields entry)
        {
            var at = Words.Time(entry.Text("at"));
            switch (entry.Text("kind"))
            {
                case "execution":
                    var execution = new Execution { Submit = entry.Inner("submit"), State = entry.Inner("state"), At = at };
                    foreach (var fill in (entry.Get("fills") as IEnumerable ?? new object[0]).Cast<Fields>()) execution.Fills.Add(fill);
                    Executions[execution.ExecutionId] = execution;
                    break;
                case "cancel":
                    Cancels[entry.Text("id")] = new CancelRecord { ExecutionId = entry.Text("executionId"), State = entry.Inner("state"), At = at };
                    break;
                case "report":
                    var id = (long)entry.Get("id");
                    lastReportId = Math.Max(lastReportId, id);
                    Reports[id] = new KeptReport { Seq = (long?)entry.Get("seq"), Frame = entry.Inner("frame") };
                    Seq = Math.Max(Seq, Reports[id].Seq ?? 0);
                    ApplyReport(entry.Inner("frame"), at);
                    break;
                case "number":
                    KeptReport kept;
                    if (Reports.TryGetValue((long)entry.Get("id"), out kept)) kept.Seq = (long)entry.Get("seq");
                    Seq = Math.Max(Seq, (long)entry.Get("seq"));
                    break;
                case "acknowledged":
                    var seq = (long)entry.Get("seq");
                    foreach (var done in Reports.TakeWhile(pair => pair.Value.Seq <= seq).Select(pair => pair.Key).ToList()) Reports.Remove(done);
                    Seq = Math.Max(Seq, seq);
                    break;
            }
        }

        void ApplyReport(Fields frame, DateTime at)
        {
            var state = Words.Without(frame, "type", "executionId", "cancelRequestId", "fill", "occurredAt");
            CancelRecord cancel;
            if (frame.Text("type") == "cancel_report")
            {
                if (!Cancels.TryGetValue(frame.Text("cancelRequestId"), out cancel)) return;
                cancel.State = state;
                cancel.At = at;
                return;
            }
            Execution execution;
            if (!Executions.TryGetValue(frame.Text("executionId"), out execution)) return;
            execution.State = state;
            execution.At = at;
            var fill = frame.Inner("fill");
            if (fill != null && execution.Fills.All(known => known.Text("fillId") != fill.Text("fillId"))) execution.Fills.Add(fill);
            if (execution.IsFinal) execution.Submit = execution.Submit.With(new Fields { { "payload", new Fields() } });
        }

        void ReadAll()
        {
            if (!File.Exists(path)) return;
            var text = File.ReadAllText(path);
            // The text after the last newline is a torn write.
            var all = text.Split('\n');
            for (var number = 0; number < all.Length - 1; number++)
            {
                try
                {
                    if (number == 0 && all[0] != head) throw new FormatException("it is of another source");
                    if (number > 0) Apply((Fields)Json.Read(all[number], Json.DepthMax + 1)); // An entry holds a frame.
                }
                catch (Exception error)
                {
                    throw new IOException("The journal " + path + " is damaged in line " + (number + 1) + ". Without it a command could be " +
                        "executed twice: check the orders at the broker, then move the file away and start again.", error);
                }
            }
        }

        /// <summary>Forgets old entries, and replaces the file by one with the rest.</summary>
        void Compact()
        {
            Forget();
            var entries = new List<string> { head };
            foreach (var execution in Executions.Values)
                entries.Add(Json.Write(new Fields {
                    { "kind", "execution" }, { "at", Words.Time(execution.At) }, { "submit", execution.Submit }, { "state", execution.State },
                    { "fills", execution.Fills } }));
            foreach (var cancel in Cancels)
                entries.Add(Json.Write(new Fields {
                    { "kind", "cancel" }, { "at", Words.Time(cancel.Value.At) }, { "id", cancel.Key }, { "executionId", cancel.Value.ExecutionId },
                    { "state", cancel.Value.State } }));
            // The acknowledged seq must be below the first kept report, which reading would drop otherwise.
            var first = Reports.Values.FirstOrDefault(report => report.Seq != null);
            var now = Words.Time(DateTime.UtcNow);
            entries.Add(Json.Write(new Fields { { "kind", "acknowledged" }, { "at", now }, { "seq", first == null ? Seq : first.Seq - 1 } }));
            foreach (var report in Reports)
                entries.Add(Json.Write(new Fields {
                    { "kind", "report" }, { "at", now }, { "id", report.Key }, { "seq", report.Value.Seq }, { "frame", report.Value.Frame } }));
            var draft = path + ".new";
            using (var next = new FileStream(draft, FileMode.Create, FileAccess.Write))
            {
                foreach (var line in entries.Select(Line)) next.Write(line, 0, line.Length);
                next.Flush(true);
            }
            if (file != null) // Windows does not replace an open file.
            {
                file.Dispose();
                disk.Dispose();
            }
            if (File.Exists(path)) File.Replace(draft, path, null);
            else File.Move(draft, path);
            file = new FileStream(path, FileMode.Append, FileAccess.Write, FileShare.ReadWrite);
            disk = new FileStream(path, FileMode.Open, FileAccess.Write, FileShare.ReadWrite);
            lines = 0;
        }

        void Forget()
        {
            var now = DateTime.UtcNow;
            var waiting = new HashSet<string>(Reports.Values.Select(report => report.Frame.Text("executionId") ?? report.Frame.Text("cancelRequestId")));
            var excess = Executions.Count - ExecutionsMax;
            var all = Executions.Values.ToList();
            // A command that comes later would take the place of a removed one, and be taken up before its time.
            Executions.Clear();
            foreach (var execution in all)
            {
                var expiresAt = Words.Time(execution.Submit.Text("expiresAt"));
                var age = now - (execution.At > expiresAt ? execution.At : expiresAt);
                var keep = excess > 0 ? TimeSpan.FromHours(1) : execution.Status == "unknown" ? KeepUnknown : Keep;
                if (!execution.IsFinal || waiting.Contains(execution.ExecutionId) || age < keep) Executions.Add(execution.ExecutionId, execution);
                else excess--;
            }
            foreach (var cancel in Cancels.ToList())
                if (!waiting.Contains(cancel.Key) && !Executions.ContainsKey(cancel.Value.ExecutionId) && now - cancel.Value.At > Keep)
                    Cancels.Remove(cancel.Key);
        }

        static byte[] Line(string text) { return Encoding.UTF8.GetBytes(text + "\n"); }
    }

    /// <summary>
    /// Frames with a seq, in order, until they are acknowledged: reports, which the journal has, and events, in memory
    /// within bounds. Frames get numbers only while connected, so that each is above the gateway's lastSeq.
    /// </summary>
    internal sealed class Outgoing
    {
        sealed class Item
        {
            internal Fields Frame;
            internal long? Seq, ReportId;
            /// <summary>When an event arrived; null for reports and notices of losses, which are never dropped.</summary>
            internal TimeSpan? Born;
        }

        readonly Journal journal;
        readonly Stopwatch clock = Stopwatch.StartNew();
        LinkedList<Item> items;
        List<Item> unsent = new List<Item>();
        readonly Dictionary<string, long> dropped = new Dictionary<string, long> { { "queue_full", 0 }, { "too_old", 0 } };
        long seq;
        int events;
        bool isOpen;
        double eventsMax = 2000, ageMs = 600000;

        internal Outgoing(Journal journal)
        {
            this.journal = journal;
            seq = journal.Seq;
            items = new LinkedList<Item>(journal.Reports.Select(pair => new Item { Frame = pair.Value.Frame, Seq = pair.Value.Seq, ReportId = pair.Key }));
        }

        internal bool HasUnacknowledged { get { return items.Count > 0; } }

        /// <summary>Called after a welcome: sends again every frame that the gateway does not have.</summary>
        internal void Open(long lastSeq, Fields bounds)
        {
            if (bounds != null)
            {
                eventsMax = bounds.Number("eventsMax");
                ageMs = bounds.Number("ageMs");
            }
            seq = Math.Max(seq, lastSeq);
            Acknowledge(lastSeq);
            var oldest = clock.Elapsed - TimeSpan.FromMilliseconds(ageMs);
            var fresh = items.Where(item => item.Born == null || item.Born >= oldest).ToList();
            dropped["too_old"] += items.Count - fresh.Count;
            events -= items.Count - fresh.Count;
            var notices = dropped.Where(pair => pair.Value > 0).Select(pair => new Item {
                Frame = SignalboxPlugin.EventFrame("terminal_message", new Fields { { "dropped", pair.Value }, { "reason", pair.Key } }) });
            items = new LinkedList<Item>(fresh.Where(item => item.Seq != null).Concat(notices.ToList()).Concat(fresh.Where(item => item.Seq == null)));
            foreach (var reason in dropped.Keys.ToList()) dropped[reason] = 0;
            foreach (var item in items.Where(item => item.Seq == null))
            {
                item.Seq = ++seq;
                if (item.ReportId != null) journal.Note("number", new Fields { { "id", item.ReportId }, { "seq", item.Seq } });
            }
            unsent = items.ToList();
            isOpen = true;
        }

        internal void Close()
        {
            isOpen = false;
            unsent = new List<Item>();
        }

        internal void AddReport(Fields frame)
        {
            var number = isOpen ? ++seq : (long?)null;
            Add(new Item { Frame = frame, Seq = number, ReportId = journal.NoteReport(frame, number) });
        }

        /// <returns>False if the event is dropped, because too many events wait for an acknowledgement.</returns>
        internal bool AddEvent(Fields frame)
        {
            if (events >= eventsMax)
            {
                dropped["queue_full"]++;
                var oldest = isOpen ? null : items.FirstOrDefault(item => item.Born != null && item.Seq == null);
                if (oldest == null) return false;
                items.Remove(oldest);
                events--;
            }
            events++;
            Add(new Item { Frame = frame, Seq = isOpen ? ++seq : (long?)null, Born = clock.Elapsed });
            return true;
        }

        /// <summary>The frames to send now.</summary>
        internal List<Fields> Take()
        {
            var frames = unsent.Select(item => item.Frame.With(new Fields { { "seq", item.Seq } })).ToList();
            unsent = new List<Item>();
            return frames;
        }

        /// <summary>Ignores a seq that was never sent: reports up to it would be lost, and later numbers too low.</summary>
        internal void Acknowledge(long upTo)
        {
            if (upTo > seq) return;
            var isJournaled = false;
            while (items.Count > 0 && items.First.Value.Seq <= upTo)
            {
                isJournaled |= items.First.Value.ReportId != null;
                if (items.First.Value.Born != null) events--;
                items.RemoveFirst();
            }
            if (isJournaled) journal.Note("acknowledged", new Fields { { "seq", upTo } });
        }

        void Add(Item item)
        {
            items.AddLast(item);
            if (isOpen) unsent.Add(item);
        }
    }

    /// <summary>The gateway has refused the upgrade.</summary>
    internal sealed class UpgradeRefused : IOException
    {
        internal readonly int Status;
        internal readonly double RetryAfterSeconds;

        internal UpgradeRefused(int status, string retryAfter) : base("the gateway answered with status " + status)
        {
            Status = status;
            double.TryParse(retryAfter, NumberStyles.None, CultureInfo.InvariantCulture, out RetryAfterSeconds);
            RetryAfterSeconds = Math.Min(RetryAfterSeconds, 3600);
        }
    }

    /// <summary>
    /// Opens a connection. It requests the upgrade itself, because WebSocket hides the status and the headers of a
    /// refusal, by which a plugin knows whether it may come back.
    /// </summary>
    internal static class Upgrade
    {
        const string Subprotocol = "signalbox.plugin.v1";
        internal const int TimeoutMs = 15000;

        internal static WebSocket Open(Uri url, string token, out TcpClient tcp)
        {
            var clock = Stopwatch.StartNew();
            var opened = tcp = Connect(url, clock);
            var isLate = false;
            // A ReadTimeout would begin anew with each read of the answer.
            using (new Timer(_ => { isLate = true; opened.Close(); }, null, LeftMs(clock), Timeout.Infinite))
            {
                try { return Ask(url, token, opened); }
                catch (Exception)
                {
                    if (isLate) throw new TimeoutException("no answer in time");
                    throw;
                }
            }
        }

        static WebSocket Ask(Uri url, string token, TcpClient tcp)
        {
            Stream stream = tcp.GetStream();
            if (url.Scheme == "wss")
            {
                var secure = new SslStream(stream);
                secure.AuthenticateAsClient(url.Host, null, SslProtocols.Tls12, true);
                stream = secure;
            }
            var key = Convert.ToBase64String(Guid.NewGuid().ToByteArray());
            var request = Encoding.ASCII.GetBytes(string.Join("\r\n",
                "GET " + url.PathAndQuery + " HTTP/1.1", "Host: " + url.Authority, "Connection: Upgrade", "Upgrade: websocket",
                "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + key, "Sec-WebSocket-Protocol: " + Subprotocol,
                "Authorization: Bearer " + token, "", ""));
            stream.Write(request, 0, request.Length);
            Check(Head(stream), key);
            return WebSocket.CreateClientWebSocket(stream, Subprotocol, 16384, 16384, TimeSpan.FromSeconds(20), false,
                WebSocket.CreateClientBuffer(16384, 16384));
        }

        /// <summary>What is left of the time for the whole attempt: name, addresses and answer.</summary>
        static int LeftMs(Stopwatch clock) { return (int)Math.Max(0, TimeoutMs - clock.ElapsedMilliseconds); }

        static TcpClient Connect(Uri url, Stopwatch clock)
        {
            Exception last = new SocketException((int)SocketError.HostNotFound);
            var addresses = Dns.GetHostAddressesAsync(url.DnsSafeHost);
            if (!addresses.Wait(LeftMs(clock))) throw new TimeoutException("no address in time");
            var untried = addresses.Result.Length;
            foreach (var address in addresses.Result)
            {
                var tcp = new TcpClient(address.AddressFamily) { NoDelay = true };
                try
                {
                    // Each address gets a share: one that does not answer must leave time for the next.
                    if (!tcp.ConnectAsync(address, url.Port).Wait(LeftMs(clock) / untried--)) throw new TimeoutException("no connection in time");
                    KeepAlive(tcp.Client);
                    return tcp;
                }
                catch (Exception error)
                {
                    tcp.Close();
                    last = error.GetBaseException();
                }
            }
            throw new IOException(last.Message, last);
        }

        /// <summary>Probes every 5 s after 30 s of silence: nothing else shows that an idle connection is dead.</summary>
        static void KeepAlive(Socket socket)
        {
            var values = new[] { 1, 30000, 5000 }.SelectMany(BitConverter.GetBytes).ToArray();
            socket.IOControl(IOControlCode.KeepAliveValues, values, null);
        }

        static string[] Head(Stream stream)
        {
            const string end = "\r\n\r\n";
            var head = new StringBuilder();
            for (var matched = 0; matched < end.Length; )
            {
                var next = stream.ReadByte();
                if (next < 0 || head.Length > 16384) throw new IOException("the gateway did not answer");
                head.Append((char)next);
                matched = next == end[matched] ? matched + 1 : next == '\r' ? 1 : 0;
            }
            return head.ToString().Split(new[] { "\r\n" }, StringSplitOptions.None);
        }

        static void Check(string[] head, string key)
        {
            var status = Regex.Match(head[0], @"^HTTP/1\.1 (\d{3})");
            if (!status.Success) throw new IOException("the answer is not that of a gateway");
            if (status.Groups[1].Value != "101") throw new UpgradeRefused(int.Parse(status.Groups[1].Value), Header(head, "Retry-After"));
            using (var sha = SHA1.Create())
            {
                var accept = sha.ComputeHash(Encoding.ASCII.GetBytes(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
                if (Header(head, "Sec-WebSocket-Accept") != Convert.ToBase64String(accept) || Header(head, "Sec-WebSocket-Protocol") != Subprotocol)
                    throw new IOException("the answer is not that of a gateway");
            }
        }

        static string Header(string[] head, string name)
        {
            var line = head.FirstOrDefault(each => each.StartsWith(name + ":", StringComparison.OrdinalIgnoreCase));
            return line == null ? null : line.Substring(name.Length + 1).Trim();
        }
    }

    /// <summary>
    /// Override what your terminal does; call Report, CancelReport and Event from any thread, at any time. The
    /// protected methods except Notice are called on one thread of their own, one after another.
    /// </summary>
    public abstract class SignalboxPlugin
    {
        /// <summary>Answer of InDoubt if the broker certainly does not have the order.</summary>
        protected static readonly Fields Execute = new Fields();

        static readonly double[] DelaysSeconds = { 1, 2, 5, 10 };
        const int WelcomeSeconds = 15;
        static readonly Dictionary<int, string[]> Refusals = new Dictionary<int, string[]> {
            { 401, new[] { "session_refused", "The gateway refuses the session token (401): log in again." } },
            { 4501, new[] { "replaced", "Another plugin has connected with the same platform, instance and account." } },
            { 4502, new[] { "bad_protocol", "The gateway rejects the frames of this plugin: its platform or account name may be wrong." } },
            { 4503, new[] { "session_revoked", "The session has expired or was revoked: log in again." } },
            { 4504, new[] { "too_many_sources", "The user has too many active terminals: stop one and wait two minutes." } },
        };
        /// <summary>The fields that the base reads of a frame of the gateway, by its type: one without them is invalid.</summary>
        static readonly Dictionary<string, Dictionary<string, Func<object, bool>>> GatewayFrames = new Dictionary<string, Dictionary<string, Func<object, bool>>> {
            { "welcome", new Dictionary<string, Func<object, bool>> {
                { "connectionId", IsText }, { "heartbeatMs", IsPositive }, { "serverTime", IsTime }, { "lastSeq", IsSeq }, { "outgoingQueue", IsOptionalQueue } } },
            { "submit", new Dictionary<string, Func<object, bool>> {
                { "executionId", IsText }, { "signalType", IsText }, { "cmd", IsText }, { "payload", value => value is Fields }, { "expiresAt", IsTime } } },
            { "cancel", new Dictionary<string, Func<object, bool>> { { "cancelRequestId", IsText }, { "executionId", IsText } } },
            { "snapshot", new Dictionary<string, Func<object, bool>> { { "snapshotId", IsText } } },
            { "ack", new Dictionary<string, Func<object, bool>> { { "seq", IsSeq } } },
            { "error", new Dictionary<string, Func<object, bool>> { { "code", IsText } } },
        };

        /// <summary>Shown to the operator.</summary>
        public string SoftwareName = "signalbox-csharp", SoftwareVersion = "1";
        /// <summary>Time between two calls of Poll.</summary>
        public TimeSpan PollInterval = TimeSpan.FromSeconds(1);

        readonly Uri url;
        readonly Func<string> token;
        readonly Fields source;
        readonly Journal journal;
        readonly Outgoing outgoing;
        /// <summary>Guards the journal, the outgoing queue and the work that waits for the next flush.</summary>
        readonly object mutex = new object();
        readonly BlockingCollection<Action> terminalWork = new BlockingCollection<Action>();
        readonly Random random = new Random();
        static readonly Stopwatch clock = Stopwatch.StartNew();
        /// <summary>Where Linux counts the seconds since its start, with those of its sleep.</summary>
        internal static string UptimeFile = "/proc/uptime";
        readonly ManualResetEvent stopping = new ManualResetEvent(false);
        List<Action> afterFlush = new List<Action>();
        /// <summary>Frames without a seq.</summary>
        List<Fields> plain = new List<Fields>();
        WebSocket socket;
        bool isAwake, hasEnded, isResumed, hadError;
        /// <summary>Why this side has cut the connection; the library only says that it was cut.</summary>
        volatile string cutBecause;
        /// <summary>Set by the last flush: later commands are not taken, so the gateway sends them to the next process.</summary>
        bool isDrained;
        RefusedException refused;
        int attempt, silentBeats;
        /// <summary>The gateway's clock by the latest welcome, less Elapsed. Under the mutex: it is wider than a word.</summary>
        DateTime clockOffset = DateTime.UtcNow - Elapsed();

        /// <param name="url">`http://` or `ws://` base of the gateway.</param>
        /// <param name="token">Returns the session token of LogIn; called at each attempt to connect.</param>
        protected SignalboxPlugin(string url, Func<string> token, string platform, string instanceId, string accountName, string journalDir)
        {
            var address = Regex.Replace(url.TrimEnd('/'), "^http", "ws");
            this.url = new Uri(address.EndsWith("/plugin/v1") ? address : address + "/plugin/v1");
            this.token = token;
            source = new Fields { { "platform", platform }, { "instanceId", instanceId }, { "accountName", accountName } };
            journal = new Journal(journalDir, source);
            outgoing = new Outgoing(journal);
        }

        /// <summary>A session token: valid for 30 days; logins are limited to 10 a minute.</summary>
        /// <exception cref="WebException">The gateway refuses the login, or cannot be reached.</exception>
        public static string LogIn(string url, string email, string password)
        {
            var request = (HttpWebRequest)WebRequest.Create(url.TrimEnd('/') + "/api/auth/login");
            request.Method = "POST";
            request.ContentType = "application/json";
            request.AllowAutoRedirect = false; // A redirect could send the password to any host.
            var body = Encoding.UTF8.GetBytes(Json.Write(new Fields { { "email", email }, { "password", password } }));
            // The request's own timeout begins anew with each read of the answer.
            using (new Timer(_ => request.Abort(), null, Upgrade.TimeoutMs, Timeout.Infinite))
            {
                using (var sent = request.GetRequestStream()) sent.Write(body, 0, body.Length);
                try
                {
                    using (var answer = request.GetResponse())
                    {
                        var token = TextIn(answer, "sessionToken");
                        if (token != null) return token;
                    }
                }
                catch (WebException refusal)
                {
                    var message = refusal.Response == null ? null : TextIn(refusal.Response, "message");
                    if (message == null) throw;
                    throw new WebException("The gateway refuses the login: " + message, refusal, refusal.Status, refusal.Response);
                }
                throw new WebException("the answer is not that of a gateway");
            }
        }

        static string TextIn(WebResponse answer, string name)
        {
            var text = new char[65536]; // Many times as long as any answer to a login.
            try
            {
                using (var reader = new StreamReader(answer.GetResponseStream()))
                {
                    var fields = Json.Read(new string(text, 0, reader.ReadBlock(text, 0, text.Length))) as Fields;
                    return fields == null ? null : fields.Text(name);
                }
            }
            catch (FormatException) { }
            catch (IOException) { }
            return null;
        }

        /// <summary>Tells the operator what happened. Called from any thread; must not block.</summary>
        protected virtual void Notice(string kind, Fields details)
        {
            Console.Error.WriteLine(Json.Write(new Fields { { "notice", kind } }.With(details)));
        }

        /// <summary>Executes a command that is stored. Called once for each. Report its results.</summary>
        protected abstract void Submit(Execution command);

        /// <summary>Cancels an order of the journal. Once per id; after a restart again, if no outcome was reported.</summary>
        protected virtual void Cancel(string cancelRequestId, string executionId)
        {
            CancelReport(cancelRequestId, new Fields { { "status", "rejected" }, { "reasonCode", "unable_to_cancel" } });
        }

        /// <summary>
        /// Called after a restart for a command on which an earlier process has not reported: it may have reached the
        /// broker. Ask the broker. Returns what to report; Execute if the broker certainly does not have it; null if a
        /// report will follow.
        /// </summary>
        protected virtual Fields InDoubt(Execution command)
        {
            var text = "The plugin ended while it executed this: look at the broker.";
            return new Fields { { "status", "unknown" }, { "native", new Fields { { "text", text } } } };
        }

        /// <summary>Called first, with the executions on which an earlier process has reported.</summary>
        protected virtual void Restore(IList<Execution> executions) { }

        /// <summary>What the terminal holds now: `account`, `positions` and `orders`.</summary>
        protected virtual Fields Snapshot() { throw new NotSupportedException(); }

        /// <summary>Called after each welcome: the place for events that tell the whole state.</summary>
        protected virtual void Connected() { }

        /// <summary>Called every PollInterval, for terminals that have to be asked what happened.</summary>
        protected virtual void Poll() { }

        public Execution Find(string executionId)
        {
            lock (mutex)
            {
                Execution execution;
                return journal.Executions.TryGetValue(executionId, out execution) ? execution : null;
            }
        }

        /// <exception cref="ArgumentException">The gateway would refuse it, so it is not stored; the message says why.</exception>
        public void Report(string executionId, Fields evidence)
        {
            if (Find(executionId) == null) throw new ArgumentException(executionId + " was not submitted");
            AddReport(new Fields { { "type", "report" }, { "executionId", executionId } }, evidence);
        }

        public void CancelReport(string cancelRequestId, Fields evidence)
        {
            AddReport(new Fields { { "type", "cancel_report" }, { "cancelRequestId", cancelRequestId } }, evidence);
        }

        /// <param name="links">`rawText`, `executionId`, `orderRef`.</param>
        /// <returns>False if the event is dropped: larger than a frame, or too many wait.</returns>
        /// <exception cref="ArgumentException">The gateway would refuse it.</exception>
        public bool Event(string kind, Fields data, Fields links = null)
        {
            var frame = EventFrame(kind, data).With(links ?? new Fields());
            AssertTaken(frame);
            if (IsTooLarge(frame)) return false;
            lock (mutex)
            {
                var isKept = !hasEnded && outgoing.AddEvent(frame);
                WakeUp();
                return isKept;
            }
        }

        /// <summary>A fill at the present time.</summary>
        public static Fields Fill(string fillId, double price, double quantity)
        {
            return new Fields { { "fillId", fillId }, { "price", price }, { "quantity", quantity }, { "filledAt", Words.Time(DateTime.UtcNow) } };
        }

        /// <summary>Serves until Stop.</summary>
        /// <exception cref="RefusedException">A reconnect is forbidden, or the journal cannot be written.</exception>
        public void Run()
        {
            var reported = journal.Executions.Values.Where(execution => execution.State != null).ToList();
            HandOver("restore", () => Restore(reported));
            var terminal = StartThread(ServeTerminal);
            var flusher = StartThread(FlushForever);
            try { ConnectForever(); }
            catch (RefusedException error) { Refuse(error); }
            stopping.Set();
            lock (mutex) WakeUp();
            flusher.Join();
            terminalWork.CompleteAdding();
            terminal.Join();
            lock (mutex)
            {
                hasEnded = true; // A later report is not stored: its command is in doubt at the next start.
                try { journal.Sync(mutex); }
                catch (IOException error) { refused = refused ?? JournalFailed(error); }
                journal.Dispose();
            }
            if (refused != null) throw refused;
        }

        /// <summary>Ends Run, from any thread.</summary>
        public void Stop()
        {
            stopping.Set();
            lock (mutex) WakeUp();
        }

        internal static Fields EventFrame(string kind, Fields data)
        {
            return new Fields { { "type", "event" }, { "event", kind }, { "data", data }, { "occurredAt", Words.Time(DateTime.UtcNow) } };
        }

        void AddReport(Fields head, Fields evidence)
        {
            var frame = head.With(Words.Without(evidence));
            if (evidence.Inner("native") != null) frame["native"] = NativeOf(evidence.Inner("native"));
            AssertTaken(frame);
            if (IsTooLarge(frame)) throw Refused(frame, "it has more than " + Words.FrameBytesMax + " bytes");
            Add(frame);
        }

        void Add(Fields frame)
        {
            lock (mutex)
            {
                if (hasEnded) return;
                outgoing.AddReport(frame.With(new Fields { { "occurredAt", Words.Time(DateTime.UtcNow) } }));
                WakeUp();
            }
        }

        static void AssertTaken(Fields frame)
        {
            if (!Json.IsWithin(frame, Words.FrameDepthMax)) throw Refused(frame, "it is nested too deeply");
            var field = FrameFault.In(frame);
            if (field != null) throw Refused(frame, "its " + field + " is missing or not valid");
        }

        /// <summary>Whether the frame is too large, with the longest number that it may get.</summary>
        static bool IsTooLarge(Fields frame)
        {
            return SizeOf(frame.With(new Fields { { "occurredAt", Words.Time(DateTime.UtcNow) }, { "seq", Words.SeqMax } })) > Words.FrameBytesMax;
        }

        static ArgumentException Refused(Fields frame, string why)
        {
            return new ArgumentException("The gateway would refuse this " + frame.Text("type") + ": " + why + ".");
        }

        static Fields NativeOf(Fields native)
        {
            var cut = Words.Without(native);
            foreach (var limit in FrameFault.NativeMax)
                if (native.Text(limit.Key) != null) cut[limit.Key] = Catalog.Cut(native.Text(limit.Key), limit.Value);
            return cut;
        }

        /// <summary>Goes on while the computer sleeps, as a Stopwatch does under Windows, but not under Linux.</summary>
        static TimeSpan Elapsed()
        {
            if (!File.Exists(UptimeFile)) return clock.Elapsed;
            return TimeSpan.FromSeconds(double.Parse(File.ReadAllText(UptimeFile).Split(' ')[0], CultureInfo.InvariantCulture));
        }

        // What follows runs on the thread of Run.

        void ConnectForever()
        {
            while (!stopping.WaitOne(0))
            {
                Notice("connecting", new Fields { { "url", url.ToString() } });
                var retryAfter = 0.0;
                var message = "the connection has ended";
                int? code = null;
                hadError = false;
                cutBecause = null;
                TcpClient tcp = null;
                try
                {
                    using (var opened = Upgrade.Open(url, token(), out tcp))
                    {
                        Serve(opened);
                        code = (int?)opened.CloseStatus;
                        message = string.IsNullOrEmpty(opened.CloseStatusDescription) ? message : opened.CloseStatusDescription;
                    }
                }
                catch (RefusedException) { throw; }
                catch (UpgradeRefused error)
                {
                    if (error.Status == 401) throw Refusal(401, "");
                    retryAfter = error.RetryAfterSeconds;
                    message = error.Message;
                }
                catch (Exception error) { message = cutBecause ?? error.GetBaseException().Message; }
                finally
                {
                    if (tcp != null) tcp.Close();
                    lock (mutex)
                    {
                        socket = null;
                        outgoing.Close();
                    }
                }
                // A 4502 without an error frame says that the hello was late, as after a stall of the computer.
                if (code >= 4500 && code <= 4999 && (code != 4502 || hadError)) throw Refusal(code.Value, message);
                if (code == 4502) message = "the gateway got no hello within 5 s: the line to it is slow, or this computer paused";
                if (stopping.WaitOne(0)) return;
                var delay = Math.Max(retryAfter, DelaysSeconds[Math.Min(attempt++, 3)]) * (1 + random.NextDouble() / 4);
                Notice("disconnected", new Fields { { "code", code }, { "message", message }, { "retrySeconds", delay } });
                stopping.WaitOne(TimeSpan.FromSeconds(delay));
            }
        }

        void Serve(WebSocket opened)
        {
            Timer beat = null;
            using (var ending = new CancellationTokenSource())
            {
                // The flusher closes the connection at the end; a gateway that does not answer has two seconds.
                var waiting = ThreadPool.RegisterWaitForSingleObject(stopping, (_, __) => CancelLater(ending), null, -1, true);
                try
                {
                    // The gateway reads its clock after this; its welcome may take long.
                    var askedAt = Elapsed();
                    Send(opened, Hello());
                    var seconds = 0;
                    // Counts ticks, so that a pause of the process, after which the socket is not read yet, counts as one.
                    using (new Timer(_ => { if (++seconds == WelcomeSeconds) Cut(opened, "the gateway did not send welcome in time"); }, null, 1000, 1000))
                    {
                        Fields welcome = null;
                        while (welcome == null)
                        {
                            var text = Receive(opened, ending.Token);
                            if (text == null) return;
                            var frame = Checked(text);
                            if (frame.Text("type") == "welcome") welcome = frame;
                            else Take(frame);
                        }
                        Welcome(opened, welcome, askedAt);
                        var interval = TimeSpan.FromMilliseconds(welcome.Number("heartbeatMs"));
                        beat = new Timer(_ => Beat(opened), null, interval, interval);
                    }
                    for (var text = Receive(opened, ending.Token); text != null; text = Receive(opened, ending.Token)) Take(Checked(text));
                }
                finally
                {
                    waiting.Unregister(null);
                    if (beat != null) beat.Dispose();
                }
            }
        }

        void Cut(WebSocket opened, string why)
        {
            cutBecause = why;
            opened.Abort();
        }

        static void CancelLater(CancellationTokenSource ending)
        {
            try { ending.CancelAfter(2000); }
            catch (ObjectDisposedException) { } // The connection has ended.
        }

        void Welcome(WebSocket opened, Fields welcome, TimeSpan askedAt)
        {
            attempt = 0;
            lock (mutex)
            {
                clockOffset = Words.Time(welcome.Text("serverTime")) - askedAt;
                outgoing.Open((long)welcome.Get("lastSeq"), welcome.Inner("outgoingQueue"));
                socket = opened;
                silentBeats = 0;
                if (!isResumed) Resume();
                HandOver("connected", Connected);
                WakeUp();
            }
            Notice("connected", new Fields { { "connectionId", welcome.Text("connectionId") }, { "lastSeq", welcome.Get("lastSeq") } });
        }

        /// <summary>Takes up stored commands on which an earlier process did not report, and cancels without an outcome.</summary>
        void Resume()
        {
            isResumed = true;
            foreach (var execution in journal.Executions.Values.Where(each => each.State == null).ToList())
            {
                var command = execution;
                HandOver(command.ExecutionId, () => Settle(command));
            }
            foreach (var pair in journal.Cancels.Where(each => each.Value.IsOpen).ToList())
            {
                var cancel = pair;
                HandOver(cancel.Key, () => TryCancel(cancel.Key, cancel.Value.ExecutionId));
            }
        }

        /// <summary>Lists open executions, but none with a report on its way, which the gateway would then take for old.</summary>
        Fields Hello()
        {
            lock (mutex)
            {
                var waiting = new HashSet<string>(journal.Reports.Values.Select(report => report.Frame.Text("executionId")));
                var open = journal.Executions.Values
                    .Where(each => each.State != null && !each.IsFinal && !waiting.Contains(each.ExecutionId))
                    .Select(each => new Fields { { "executionId", each.ExecutionId } }.With(each.State)).ToList();
                open = open.Skip(Math.Max(0, open.Count - 1000)).ToList();
                var capabilities = new[] { "submit", "cancel", "snapshot" }.Where(IsAble).ToList();
                var hello = new Fields { { "type", "hello" } }.With(source).With(new Fields {
                    { "capabilities", capabilities },
                    { "software", new Fields { { "name", SoftwareName }, { "version", SoftwareVersion } } },
                    { "executions", open },
                });
                while (SizeOf(hello) > Words.FrameBytesMax)
                    hello["executions"] = open = open.Skip(open.Count / 4 + 1).ToList();
                return hello;
            }
        }

        bool IsAble(string capability) { return Overrides(char.ToUpperInvariant(capability[0]) + capability.Substring(1)); }

        /// <summary>Whether the terminal has its own method in place of the base's; it may have others of that name.</summary>
        bool Overrides(string name)
        {
            return GetType().GetMethods(BindingFlags.Instance | BindingFlags.NonPublic).Any(method => method.Name == name
                && method.DeclaringType != typeof(SignalboxPlugin) && method.GetBaseDefinition().DeclaringType == typeof(SignalboxPlugin));
        }

        /// <returns>The frame's text; null if the gateway has closed the connection.</returns>
        static string Receive(WebSocket opened, CancellationToken cancellation)
        {
            var buffer = new ArraySegment<byte>(new byte[16384]);
            using (var message = new MemoryStream())
            {
                for (; ; )
                {
                    var part = opened.ReceiveAsync(buffer, cancellation).GetAwaiter().GetResult();
                    if (part.MessageType == WebSocketMessageType.Close) return null;
                    message.Write(buffer.Array, 0, part.Count);
                    if (message.Length > 2 * Words.FrameBytesMax) throw new IOException("the gateway sends a message that is too large");
                    if (part.EndOfMessage) return part.MessageType == WebSocketMessageType.Text ? Encoding.UTF8.GetString(message.ToArray()) : "";
                }
            }
        }

        /// <returns>The frame; one without fields if it is invalid or of an unknown type.</returns>
        Fields Checked(string text)
        {
            silentBeats = 0;
            try
            {
                var frame = (Fields)Json.Read(text);
                if (GatewayFrames[frame.Text("type")].All(field => field.Value(frame.Get(field.Key)))) return frame;
            }
            catch (Exception error)
            {
                if (!(error is FormatException || error is InvalidCastException || error is KeyNotFoundException || error is ArgumentException)) throw;
            }
            Notice("bad_frame", new Fields());
            return new Fields();
        }

        static bool IsText(object value) { return value is string && (string)value != ""; }

        static bool IsSeq(object value) { return value is long && (long)value >= 0 && (long)value <= Words.SeqMax; }

        /// <summary>Whether it is above zero, and no more milliseconds than a Timer takes.</summary>
        static bool IsPositive(object value) { return IsSeq(value) && (long)value > 0 && (long)value <= int.MaxValue; }

        /// <summary>Whether it is a time with a zone: without one its clock is not known.</summary>
        static bool IsTime(object value)
        {
            var text = value as string;
            return text != null && DateTime.Parse(text, CultureInfo.InvariantCulture, DateTimeStyles.AdjustToUniversal).Kind == DateTimeKind.Utc;
        }

        /// <summary>Null is valid: the welcome of an older gateway has no queue bounds.</summary>
        static bool IsOptionalQueue(object value)
        {
            var bounds = value as Fields;
            return value == null || bounds != null && IsPositive(bounds.Get("eventsMax")) && IsPositive(bounds.Get("ageMs"));
        }

        void Take(Fields frame)
        {
            switch (frame.Text("type"))
            {
                case "submit": TakeSubmit(frame); break;
                case "cancel": TakeCancel(frame.Text("cancelRequestId"), frame.Text("executionId")); break;
                case "snapshot": HandOver("snapshot", () => SendSnapshot(frame.Text("snapshotId"))); break;
                case "ack": lock (mutex) outgoing.Acknowledge((long)frame.Get("seq")); break;
                case "error":
                    hadError = true;
                    Notice("gateway_error", new Fields { { "code", frame.Text("code") }, { "message", frame.Text("message") } });
                    break;
            }
        }

        void TakeSubmit(Fields frame)
        {
            var id = frame.Text("executionId");
            lock (mutex)
            {
                if (isDrained) return;
                var known = Find(id);
                if (known == null)
                {
                    journal.Note("execution", new Fields { { "submit", frame } });
                    var command = Find(id);
                    afterFlush.Add(() => HandOver(id, () => ExecuteNow(command)));
                }
                else if (known.State != null) Add(new Fields { { "type", "report" }, { "executionId", id } }.With(known.State));
                plain.Add(new Fields { { "type", "ack" }, { "executionId", id } });
                WakeUp();
            }
        }

        void TakeCancel(string id, string executionId)
        {
            lock (mutex)
            {
                if (isDrained) return;
                CancelRecord known;
                if (!journal.Cancels.TryGetValue(id, out known))
                {
                    journal.Note("cancel", new Fields { { "id", id }, { "executionId", executionId } });
                    afterFlush.Add(() => HandOver(id, () => TryCancel(id, executionId)));
                }
                else if (known.State != null) Add(new Fields { { "type", "cancel_report" }, { "cancelRequestId", id } }.With(known.State));
                plain.Add(new Fields { { "type", "ack" }, { "cancelRequestId", id } });
                WakeUp();
            }
        }

        static RefusedException Refusal(int code, string message)
        {
            string[] known;
            if (!Refusals.TryGetValue(code, out known)) known = new[] { "refused", code + " " + message };
            return new RefusedException(known[0], known[1]);
        }

        // What follows runs on the flusher's thread.

        /// <summary>Flushes once for all that has come, then hands commands over and sends frames.</summary>
        void FlushForever()
        {
            for (var isLast = false; !isLast; )
            {
                WebSocket target;
                List<Action> works;
                List<Fields> frames;
                lock (mutex)
                {
                    while (!isAwake) Monitor.Wait(mutex);
                    isAwake = false;
                    isDrained = isLast = stopping.WaitOne(0);
                    target = socket;
                    works = afterFlush;
                    frames = plain;
                    afterFlush = new List<Action>();
                    plain = new List<Fields>();
                    if (target != null) frames.AddRange(outgoing.Take());
                }
                try { journal.Sync(mutex); }
                catch (IOException error)
                {
                    Refuse(JournalFailed(error));
                    if (target != null) target.Abort();
                    return;
                }
                foreach (var work in works) work();
                if (target == null) continue;
                try
                {
                    foreach (var frame in frames) Send(target, frame);
                    if (isLast) target.CloseOutputAsync(WebSocketCloseStatus.NormalClosure, "terminal_stopped", CancellationToken.None).Wait(2000);
                }
                catch (Exception) { target.Abort(); } // The receiving side ends with the same error.
            }
        }

        static void Send(WebSocket target, Fields frame)
        {
            var bytes = new ArraySegment<byte>(Encoding.UTF8.GetBytes(Json.Write(frame)));
            target.SendAsync(bytes, WebSocketMessageType.Text, true, CancellationToken.None).GetAwaiter().GetResult();
        }

        void Refuse(RefusedException error)
        {
            refused = refused ?? error;
            stopping.Set();
        }

        static RefusedException JournalFailed(IOException error)
        {
            return new RefusedException("journal_failed", "The journal cannot be written: " + error.Message);
        }

        /// <summary>Call it under the mutex.</summary>
        void WakeUp()
        {
            isAwake = true;
            Monitor.PulseAll(mutex);
        }

        /// <summary>Sends a heartbeat. Cuts a silent connection on which frames wait: a WebSocket does not show pongs.</summary>
        void Beat(WebSocket opened)
        {
            lock (mutex)
            {
                if (++silentBeats > 2 && outgoing.HasUnacknowledged) Cut(opened, "the gateway has been silent for too long");
                plain.Add(new Fields { { "type", "heartbeat" } });
                WakeUp();
            }
        }

        static int SizeOf(Fields frame) { return Encoding.UTF8.GetByteCount(Json.Write(frame)); }

        static Thread StartThread(ThreadStart work)
        {
            var thread = new Thread(work) { IsBackground = true };
            thread.Start();
            return thread;
        }

        void HandOver(string id, Action work) { terminalWork.Add(() => Guard(id, work)); }

        // What follows runs on the terminal's thread.

        void ServeTerminal()
        {
            var poll = Overrides("Poll");
            var next = clock.Elapsed + PollInterval;
            while (!terminalWork.IsCompleted)
            {
                Action work;
                var wait = poll ? Math.Max(0, (next - clock.Elapsed).TotalMilliseconds) : 60000;
                if (terminalWork.TryTake(out work, (int)wait)) work();
                if (!poll || clock.Elapsed < next) continue;
                Guard("poll", Poll);
                next = clock.Elapsed + PollInterval;
            }
        }

        /// <summary>Reports as unknown what a failed call was about: the terminal must go on with its other orders.</summary>
        void Guard(string id, Action work)
        {
            try { work(); }
            catch (Exception error)
            {
                Notice("failed", new Fields { { "id", id }, { "message", error.Message } });
                var unknown = new Fields { { "status", "unknown" }, { "reasonCode", "plugin_error" }, { "native", new Fields { { "text", error.Message } } } };
                lock (mutex)
                {
                    CancelRecord cancel;
                    var execution = Find(id);
                    if (execution != null && !execution.IsFinal) Report(id, unknown);
                    else if (journal.Cancels.TryGetValue(id, out cancel) && cancel.IsOpen) CancelReport(id, unknown);
                }
            }
        }

        /// <summary>Compares with the gateway's clock: the computer's own may be wrong by more than the TTL.</summary>
        void ExecuteNow(Execution command)
        {
            DateTime now;
            lock (mutex) now = clockOffset + Elapsed();
            if (now < Words.Time(command.Submit.Text("expiresAt"))) Submit(command);
            else Report(command.ExecutionId, new Fields { { "status", "expired" }, { "reasonCode", "ttl_expired" } });
        }

        void Settle(Execution command)
        {
            var found = InDoubt(command);
            if (ReferenceEquals(found, Execute)) ExecuteNow(command);
            else if (found != null) Report(command.ExecutionId, found);
        }

        void TryCancel(string id, string executionId)
        {
            if (Find(executionId) != null) Cancel(id, executionId);
            else CancelReport(id, new Fields { { "status", "rejected" }, { "reasonCode", "order_unknown_at_terminal" } });
        }

        void SendSnapshot(string snapshotId)
        {
            var data = new Fields { { "account", new Fields() }, { "positions", new object[0] }, { "orders", new object[0] } }
                .With(Snapshot()).With(new Fields { { "snapshotId", snapshotId } });
            var orders = ((IEnumerable)data["orders"]).Cast<object>().ToList();
            while (SizeOf(data) > Words.FrameBytesMax - 1024 && orders.Count > 0)
            {
                var less = orders.Count / 4 + 1;
                data["orders"] = orders = orders.Skip(less).ToList();
                data["ordersOmitted"] = less + (data.ContainsKey("ordersOmitted") ? data.Number("ordersOmitted") : 0);
            }
            if (!Event("state_snapshot", data))
                throw new InvalidOperationException("the snapshot is not sent: even without its orders it is larger than a frame");
        }
    }
}
