/** The plugin base for .NET under Mono, by its paper example and by a terminal of the tests. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { compile, noMono } from './csharp.js';
import { assertBounds, assertFaults, boundedLines, frameCases } from './frame-cases.js';
import { fakeGateway, ledgerAt, order, testPluginPromises } from './plugin-promises.js';

/** A directory of the whole file: those of its tests are emptied when they begin. */
const directory = t.testdir();

await t.test('the plugin base for .NET', { skip: noMono }, (t) =>
  testPluginPromises(t, {
    paper: compile(directory, 'paper'),
    ledger: compile(directory, 'ledger'),
    environment: {},
    stop: (paper) => paper.stdin?.write('\n'),
  }),
);

await t.test(
  'a connection that has become silent is cut, and it says why',
  { skip: noMono },
  async (t) => {
    const fake = await fakeGateway(t);
    const language = { ledger: compile(directory, 'ledger'), environment: {} };
    const terminal = ledgerAt(t, language, fake.url).start();
    const connection = await fake.connection();
    await connection.welcome({ heartbeatMs: 200 });
    connection.send({ ...order, payload: { quantity: 1 } });
    // The report gets no acknowledgement: the gateway is silent.
    await connection.next('report');
    t.match(await terminal.notice('disconnected'), { message: /silent/ });
  },
);

await t.test(
  'a terminal may have methods of its own by the names of the base',
  { skip: noMono },
  async (t) => {
    const fake = await fakeGateway(t);
    const language = { ledger: compile(directory, 'ledger'), environment: {} };
    ledgerAt(t, language, fake.url).start();
    const { capabilities } = await (await fake.connection()).welcome();
    t.strictSame(capabilities, ['submit', 'cancel', 'snapshot']);
  },
);

await t.test('a sleep counts as time', { skip: noMono }, async (t) => {
  const uptime = join(directory, 'uptime');
  writeFileSync(uptime, '1000.00 9.00\n');
  const fake = await fakeGateway(t);
  const language = { ledger: compile(directory, 'ledger'), environment: { UPTIME_FILE: uptime } };
  ledgerAt(t, language, fake.url).start();
  const connection = await fake.connection();
  await connection.welcome({ serverTime: '2026-01-15T12:00:00.000Z' });
  for (const [executionId, status] of [
    ['exe_1', 'filled'],
    ['exe_2', 'expired'],
  ] as const) {
    const expiresAt = '2026-01-15T12:01:00.000Z';
    connection.send({ ...order, executionId, expiresAt, payload: { quantity: 1 } });
    t.match(await connection.next('report'), { executionId, status });
    writeFileSync(uptime, '1061.00 9.00\n');
  }
});

await t.test('what is noted while the journal is flushed is read again', { skip: noMono }, (t) => {
  const [mono = '', program = ''] = compile(directory, 'busy');
  const { status, stderr } = spawnSync(mono, [program, t.testdir(), '20000'], {
    encoding: 'utf8',
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });
  t.equal(status, 0, stderr);
  t.end();
});

await t.test(
  'what the gateway would refuse is refused to the terminal, with the name of its field',
  { skip: noMono },
  (t) => {
    const [mono = '', program = ''] = compile(directory, 'faults');
    const { status, stdout, stderr } = spawnSync(mono, [program, t.testdir()], {
      input: frameCases.map(({ frame }) => `${JSON.stringify(frame)}\n`).join(''),
      encoding: 'utf8',
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    t.equal(status, 0, stderr);
    const lines = stdout.split('\n');
    t.match(lines.slice(frameCases.length), [
      /cancel_report: its reasonCode/,
      /cancel_report: its native\.code/,
      /an enum is no JSON/,
      '',
    ]);
    assertFaults(t, lines);
    t.end();
  },
);

await t.test(
  'a frame that is too large or nested too deeply for the gateway is not stored',
  { skip: noMono },
  (t) => {
    const [mono = '', program = ''] = compile(directory, 'bounds');
    const { status, stdout, stderr } = spawnSync(mono, [program, t.testdir()], {
      input: boundedLines,
      encoding: 'utf8',
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    t.equal(status, 0, stderr);
    const lines = stdout.split('\n');
    assertBounds(t, lines);
    t.strictSame(lines.slice(-2), ['7', '']);
    t.end();
  },
);

const ends = {
  blocked: 'a journal that cannot be replaced fails as a full disk does',
  damaged: 'a journal that is damaged is refused, and free again',
  kept: 'what is unknown is kept for 30 days: it may yet be carried out, and is then forgotten',
} as const;
for (const [name, says] of Object.entries(ends)) {
  await t.test(says, { skip: noMono }, (t) => {
    const [mono = '', program = ''] = compile(directory, name as keyof typeof ends);
    const { status, stderr } = spawnSync(mono, [program, t.testdir()], {
      encoding: 'utf8',
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    t.equal(status, 0, stderr);
    t.end();
  });
}
