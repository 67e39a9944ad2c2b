/** The plugin base for Python, by its paper example and by a terminal of the tests. */
import { execFileSync } from 'node:child_process';
import t from 'tap';
import { startFakeApi } from '../support/fake-api.js';
import { assertBounds, assertFaults, boundedLines, frameCases } from './frame-cases.js';
import { fakeGateway, ledgerAt, testPluginPromises } from './plugin-promises.js';
import { startTerminal } from './terminal-process.js';
import { environment, noPython, python, root, sdk } from './python.js';

const ledger = [String(python), `${root}test/sdk/python/ledger_terminal.py`];

await t.test('the plugin base for Python', { skip: noPython }, (t) =>
  testPluginPromises(t, {
    paper: [String(python), `${sdk}/examples/paper_terminal.py`],
    ledger,
    environment,
    stop: (paper) => paper.kill('SIGTERM'),
  }),
);

await t.test(
  'a login passes over what a proxy sends before the answer',
  { skip: noPython },
  async (t) => {
    const api = await startFakeApi();
    t.teardown(() => api.close());
    const early = 'HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n';
    const answer = 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"sessionToken":"svc_session_1"}';
    api.play({ atOnce: early + answer, slowly: '' });
    const args = ['terminal_a', 'desk-1', 'Sim101', t.testdir(), '', 'never'];
    const login = { url: api.baseUrl, email: 'ann@example.com' };
    const terminal = startTerminal(t, [...ledger, ...args], environment, login);
    t.ok(await terminal.notice('connecting'));
  },
);

await t.test(
  'a connection is cut when nothing comes any more, and not while frames come but no pong',
  { skip: noPython },
  async (t) => {
    const fake = await fakeGateway(t);
    const terminal = ledgerAt(t, { ledger, environment }, fake.url).start();
    const connection = await fake.connection();
    connection.socket.pong = () => undefined;
    await connection.welcome({ heartbeatMs: 500 });
    for (let beats = 0; beats < 5; beats++) {
      await connection.next('heartbeat');
      connection.send({ type: 'ack', seq: 1 });
    }
    t.match(await terminal.notice('disconnected'), { message: /silent/ });
  },
);

await t.test('pongs alone keep a connection', { skip: noPython }, async (t) => {
  const fake = await fakeGateway(t);
  ledgerAt(t, { ledger, environment }, fake.url).start();
  const connection = await fake.connection();
  await connection.welcome({ heartbeatMs: 500 });
  for (let beats = 0; beats < 5; beats++) await connection.next('heartbeat');
  t.equal(connection.socket.readyState, connection.socket.OPEN);
});

/** Plugins that are stopped before they run, and by a signal that comes as they begin to. */
const stopsEarly = `
import sys
from signalbox.plugin import Plugin, Source
class Idle(Plugin):
    def submit(self, command): pass
class Interrupted(Idle):
    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "_loop" and value is not None:
            self.stop()
for kind in Idle, Interrupted:
    plugin = kind("http://127.0.0.1:1", lambda: "token", Source("terminal_a", "desk-1", "Sim101"), sys.argv[1])
    if kind is Idle:
        plugin.stop()
    plugin.run()
`;

function printedBy(args: readonly string[], input = ''): string {
  return execFileSync(String(python), args, {
    env: { ...process.env, ...environment },
    encoding: 'utf8',
    timeout: 60_000,
    input,
  });
}

const countsUnits = `
from signalbox.plugin import fault_of
for comment in "", "x" * 64, "\\U0001f600" * 32, "\\U0001f600" * 33, "\\ud800", "x" * 65, 5:
    payload = {"instrument": "ES", "side": "buy", "executionType": "market", "quantity": 1, "comment": comment}
    fault = fault_of({"signalType": "order", "cmd": "submit", "payload": payload})
    print(fault and fault.reasonCode)
`;

await t.test('a text is as long as the gateway counts it', { skip: noPython }, async (t) => {
  const [taken, refused] = ['None\n', 'invalid_field\n'];
  const expected = [taken, taken, taken, refused, taken, refused, refused];
  t.equal(printedBy(['-c', countsUnits]), expected.join(''));
});

/** Judges frames, one a line; then makes reports that the gateway would refuse, and prints what is stored. */
const judges = `
import json, sys
from signalbox.frame_fault import fault_in
from signalbox.plugin import Plugin, Source
for line in sys.stdin:
    print(fault_in(json.loads(line)) or "")
plugin = Plugin("http://127.0.0.1:1", lambda: "token", Source("terminal_a", "desk-1", "Sim101"), sys.argv[1])
try:
    plugin.cancel_report("can_1", {"status": "rejected", "reasonCode": "margin_call"})
except ValueError as error:
    print(error)
plugin.cancel_report("can_1", {"status": "pending", "native": {"orderId": "\\U0001f600" * 65}})
print(list(plugin._journal.reports), len(plugin._journal.reports[1][1]["native"]["orderId"]))
`;

await t.test(
  'what the gateway would refuse is refused to the terminal, with the name of its field',
  { skip: noPython },
  async (t) => {
    const frames = frameCases.map(({ frame }) => `${JSON.stringify(frame)}\n`).join('');
    const lines = printedBy(['-c', judges, t.testdir()], frames).split('\n');
    t.match(lines.slice(frameCases.length), [/cancel_report: its reasonCode/, '[1] 64', '']);
    assertFaults(t, lines);
  },
);

/** Sends frames, one a line, by the plugin; then prints how many it keeps. */
const sends = `
import json, sys
from signalbox.plugin import Plugin, Source
plugin = Plugin("http://127.0.0.1:1", lambda: "token", Source("terminal_a", "desk-1", "Sim101"), sys.argv[1])
kept = 0
for line in sys.stdin:
    frame = json.loads(line)
    try:
        if frame.pop("type") == "event":
            said = "" if plugin.event(frame["event"], frame["data"]) else "false"
        else:
            said = plugin.cancel_report(frame.pop("cancelRequestId"), frame) or ""
    except ValueError as error:
        said = str(error)
    kept += not said
    print(said)
print(len(plugin._outgoing._items) - kept, len(plugin._journal.reports))
tuples = (1,)
for _ in range(64):
    tuples = (tuples,)
try:
    plugin.event("order_update", {"ofItsOwn": tuples})
except ValueError as error:
    print(error)
`;

await t.test(
  'a frame that is too large or nested too deeply for the gateway is not stored',
  { skip: noPython },
  async (t) => {
    const lines = printedBy(['-c', sends, t.testdir()], boundedLines).split('\n');
    assertBounds(t, lines);
    t.match(lines.slice(-3), ['0 7', /event: it is nested too deeply/, '']);
  },
);

/** Flushes twice on a disk that fails the first flush. */
const flushFails = `
import contextlib, os, sys
from signalbox.journal import Journal
from signalbox.plugin import Source
journal = Journal(sys.argv[1], Source("terminal_a", "desk-1", "Sim101"))
journal.note("acknowledged", seq=0)
fsync = os.fsync
def failing(file):
    raise OSError(5, "Input/output error")
for os.fsync in failing, fsync:
    try:
        journal.sync(contextlib.nullcontext())
        print("flushed")
    except OSError as error:
        print(error.errno)
`;

await t.test('after a flush that failed, none succeeds', { skip: noPython }, async (t) => {
  t.equal(printedBy(['-c', flushFails, t.testdir()]), '5\n5\n');
});

/** Replaces the journal's file on a disk that refuses; another file then gets the old descriptor's number. */
const replaceFails = `
import contextlib, os, sys
from signalbox.journal import Journal, JournalRefused
from signalbox.plugin import Source
directory, source = sys.argv[1], Source("terminal_a", "desk-1", "Sim101")
journal = Journal(directory, source)
def note():
    journal.note("acknowledged", seq=0)
def sync():
    try:
        journal.sync(contextlib.nullcontext())
    except OSError as error:
        print(error.errno)
for _ in range(Journal.COMPACT_AFTER + 1):
    note()
replace = os.replace
def failing(*paths):
    raise OSError(5, "Input/output error")
os.replace = failing
sync()
other = os.open(f"{directory}/other", os.O_CREAT | os.O_WRONLY)
note()
sync()
print(os.fstat(other).st_size)
journal.close()
try:
    Journal(directory, source)
except JournalRefused as refused:
    print(refused)
os.replace = replace
Journal(directory, source)
`;

await t.test(
  'a journal that could not be replaced writes nothing more, and is read again',
  { skip: noPython },
  async (t) => {
    const directory = t.testdir();
    t.strictSame(printedBy(['-c', replaceFails, directory]).split('\n'), [
      '5',
      '5',
      '0',
      `The journal in ${directory} cannot be used: [Errno 5] Input/output error.`,
      '',
    ]);
  },
);

/** Opens a journal with an entry of another version, and opens the directory again without that file. */
const readsNewer = `
import os, sys
from signalbox.journal import Journal, JournalRefused
from signalbox.plugin import Source
directory, source = sys.argv[1], Source("terminal_a", "desk-1", "Sim101")
journal = Journal(directory, source)
journal.close()
path = journal._path
with open(path, "ab") as file:
    file.write(b'{"kind":"execution","at":1,"execution":{"submit":{"executionId":"exe_1"},"newer":1}}\\n')
try:
    Journal(directory, source)
except JournalRefused as refused:
    print("damaged in line 3" in str(refused))
os.remove(path)
Journal(directory, source)
`;

await t.test(
  'a journal with an entry of another version is refused, and free again',
  { skip: noPython },
  async (t) => {
    t.equal(printedBy(['-c', readsNewer, t.testdir()]), 'True\n');
  },
);

/** Opens a journal again and again while days pass, and prints which of two ended commands it has. */
const keeps = `
import sys, time
from signalbox.journal import Journal
from signalbox.plugin import Source
def journal():
    return Journal(sys.argv[1], Source("terminal_a", "desk-1", "Sim101"))
began, days = 1_800_000_000, 0
time.time = lambda: began + days * 86400
first = journal()
for number, status in enumerate(("unknown", "filled"), 1):
    submit = {"executionId": status, "expiresAt": "2027-01-15T08:00:00.000Z"}
    first.note("execution", execution={"submit": submit, "state": None, "fills": [], "at": began})
    first.note_report({"type": "report", "executionId": status, "status": status}, number)
first.note("acknowledged", seq=2)
first.close()
for days in 1.9, 2.1, 29.9, 30.1:
    again = journal()
    print(*again.executions)
    again.close()
`;

await t.test(
  'what is unknown is kept for 30 days: it may yet be carried out, and is then forgotten',
  { skip: noPython },
  async (t) => {
    t.equal(printedBy(['-c', keeps, t.testdir()]), 'unknown filled\nunknown\nunknown\n\n');
  },
);

/** Fails at a command while nobody reads its notices any more. */
const failsUnheard = `
import sys
from signalbox.plugin import Plugin, Source
class Failing(Plugin):
    def submit(self, command): raise RuntimeError("no broker")
    def notice(self, kind, **details): raise BrokenPipeError
plugin = Failing("http://127.0.0.1:1", lambda: "token", Source("terminal_a", "desk-1", "Sim101"), sys.argv[1])
command = {"executionId": "exe_1", "expiresAt": "2999-01-01T00:00:00.000Z"}
plugin._take_submit(command)
try:
    plugin._guard("exe_1", lambda: plugin.submit(command))
except BrokenPipeError:
    print(plugin.execution("exe_1").state["status"])
`;

await t.test(
  'a failed command is unknown, also if nobody can be told',
  { skip: noPython },
  async (t) => {
    t.equal(printedBy(['-c', failsUnheard, t.testdir()]), 'unknown\n');
  },
);

/** Takes a command up after the machine slept: Linux's monotonic clock stands still meanwhile. */
const sleeps = `
import sys, time
from signalbox.plugin import Plugin, Source
plugin = Plugin("http://127.0.0.1:1", lambda: "token", Source("terminal_a", "desk-1", "Sim101"), sys.argv[1])
plugin.submit = lambda command: print("executed")
at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 60))
command = {"executionId": "exe_1", "expiresAt": at}
plugin._take_submit(command)
gettime = time.clock_gettime
for asleep in (0, 61):
    time.clock_gettime = lambda clock: gettime(clock) + (asleep if clock == time.CLOCK_BOOTTIME else 0)
    plugin._execute(command)
print(plugin.execution("exe_1").state)
`;

const isLinux = process.platform === 'linux' ? false : 'not Linux';
await t.test('a sleep counts as time', { skip: noPython || isLinux }, async (t) => {
  const expired = "{'status': 'expired', 'reasonCode': 'ttl_expired'}";
  t.equal(printedBy(['-c', sleeps, t.testdir()]), `executed\n${expired}\n`);
});

/** Connects with as many open executions as a hello may have, which almost fill the frame. */
const restsALot = `
import sys
from signalbox.plugin import Plugin, Source
class Idle(Plugin):
    def submit(self, command): pass
idle = Idle(sys.argv[1], lambda: "token", Source("terminal_a", "desk-1", "Sim101"), sys.argv[2])
for number in range(1000):
    submit = {"executionId": f"exe_{number}", "expiresAt": "2999-01-01T00:00:00.000Z"}
    state = {"status": "working", "native": {"text": "x" * 62}}
    idle._journal.note("execution", execution={"submit": submit, "state": state, "fills": [], "at": 0})
idle.run()
`;

await t.test('a hello that almost fills its frame is valid', { skip: noPython }, async (t) => {
  const fake = await fakeGateway(t);
  const command = [String(python), '-c', restsALot, fake.url, t.testdir()];
  startTerminal(t, command, environment, { url: fake.url, email: 'ann@example.com' });
  const { executions } = await (await fake.connection()).next('hello');
  t.equal(executions?.length, 1_000);
});

await t.test(
  'a plugin that is stopped before it runs, or as it begins to, ends',
  { skip: noPython },
  async (t) => {
    t.equal(printedBy(['-c', stopsEarly, t.testdir()]), '');
  },
);

await t.test(
  'the terminal reports while the disk is flushed, and not while the journal is replaced',
  { skip: noPython },
  async (t) => {
    const program = `${root}test/sdk/python/compaction_program.py`;
    t.strictSame(JSON.parse(printedBy([program, t.testdir()])), {
      reported: ['fsync'],
      kept: ['fsync'],
    });
  },
);
