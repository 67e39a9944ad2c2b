/** The plugin base for Python, by its paper example and by a terminal of the tests. */
import { execFileSync, spawnSync } from 'node:child_process';
import t from 'tap';
import { testPluginPromises } from './plugin-promises.js';
import { environment, noPython, python, root, sdk } from './python.js';

t.setTimeout(300_000);
await t.test('the plugin base for Python', { skip: noPython }, (t) =>
  testPluginPromises(t, {
    paper: [String(python), `${sdk}/examples/paper_terminal.py`],
    ledger: [String(python), `${root}test/sdk/python/ledger_terminal.py`],
    environment,
    stop: (paper) => paper.kill('SIGTERM'),
  }),
);

const stopsBeforeItRuns = `
import sys
from signalbox.plugin import Plugin, Source
class Idle(Plugin):
    def submit(self, command): pass
idle = Idle("http://127.0.0.1:1", lambda: "token", Source("terminal_a", "desk-1", "Sim101"), sys.argv[1])
idle.stop()
idle.run()
`;

function printedBy(...args: readonly string[]): string {
  return execFileSync(String(python), args, {
    env: { ...process.env, ...environment },
    encoding: 'utf8',
    timeout: 60_000,
  });
}

/** Flushes twice on a disk that fails the first one. */
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
  t.equal(printedBy('-c', flushFails, t.testdir()), '5\n5\n');
});

await t.test('a plugin that is stopped before it runs ends', { skip: noPython }, async (t) => {
  const { status, error } = spawnSync(String(python), ['-c', stopsBeforeItRuns, t.testdir()], {
    env: { ...process.env, ...environment },
    stdio: 'ignore',
    timeout: 60_000,
  });
  t.match({ status, error }, { status: 0, error: undefined });
});

await t.test(
  'the terminal reports while the disk is flushed, and not while the journal is replaced',
  { skip: noPython },
  async (t) => {
    const program = `${root}test/sdk/python/compaction_program.py`;
    t.strictSame(JSON.parse(printedBy(program, t.testdir())), {
      reported: ['fsync'],
      kept: ['fsync'],
    });
  },
);
