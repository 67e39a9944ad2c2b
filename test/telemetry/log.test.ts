import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { createLog, type Log } from '../../src/telemetry/log.js';

const programFile = (name: string): string =>
  fileURLToPath(new URL(`${name}.program.js`, import.meta.url));

function logInto(lines: string[], level: Parameters<typeof createLog>[0] = 'info'): Log {
  return createLog(level, { write: (line: string) => void lines.push(line) });
}

t.test('a line is JSON with level, time and message', (t) => {
  const lines: string[] = [];
  logInto(lines).warn({ port: 1 }, 'hello');
  t.match(JSON.parse(lines.join('')), {
    level: 'warn',
    time: /^\d{4}-.*Z$/,
    port: 1,
    msg: 'hello',
  });
  t.end();
});

t.test('nothing in a line steers the terminal that shows it, and every text is kept', (t) => {
  const lines: string[] = [];
  const text = 'a\u001b[31m\n\u007f\u009b31m\u202e\u2028\u2029\u{e0001}é😀';
  logInto(lines).warn({ instanceId: text }, text);
  t.match(lines.join(''), /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+\n$/u);
  t.match(JSON.parse(lines.join('')), { instanceId: text, msg: text });
  t.end();
});

t.test('nothing below the level is written', (t) => {
  const lines: string[] = [];
  const log = logInto(lines, 'warn');
  log.info('no');
  log.error('yes');
  logInto(lines, 'silent').fatal('no');
  t.equal(lines.length, 1);
  t.end();
});

t.test(
  'fields that are named like secrets are hidden at any depth, in objects, bindings and errors',
  (t) => {
    const lines: string[] = [];
    const log = logInto(lines);
    const names = [
      'authorization',
      'Authorization',
      'password',
      'passwordHash',
      'token',
      'sessionToken',
      'jwtSecret',
      'secret',
      'apiKey',
      'api_token',
      'set-cookie',
    ];
    for (const name of names) {
      const value = { [name]: 'hunter2' };
      log.info(value, 'flat');
      log.info({ a: { b: [{ c: value }] } }, 'deep');
      log.child(value).info('bound');
      log.error({ err: Object.assign(new Error('oops'), { options: value }) }, 'failed');
      log.info({ a: { b: { c: { d: { e: { f: { g: value } } } } } } }, 'deeper still');
    }
    t.equal(lines.length, 5 * names.length);
    for (const line of lines) t.notMatch(line, /hunter2/);
    for (const line of lines)
      t.match(JSON.parse(line).level, /info|error/, 'the line is still JSON');
    t.match(JSON.parse(lines[0] ?? ''), { authorization: '[hidden]' });
    log.info({ tokenGeneration: 2, idempotencyKey: 'k' }, 'x');
    t.match(JSON.parse(lines.at(-1) ?? ''), { tokenGeneration: 2, idempotencyKey: 'k' });
    t.match(JSON.parse(lines[3] ?? ''), { err: { message: 'oops', stack: /Error: oops/ } });
    t.end();
  },
);

t.test('a credential is cut out of the line wherever it stands', (t) => {
  const lines: string[] = [];
  const log = logInto(lines);
  const random = 'AbCdEf0123456789_-AbCdEf0123456789_-AbCdEf0';
  for (const credential of [
    `svc_api_${random}`,
    `sbs_${random}`,
    `eyJhbGciOiJI.${random}.${random}`,
    `Bearer ${random}`,
  ]) {
    log.info(`refused ${credential} here`);
    log.info({ header: credential }, 'refused');
    log.error({ err: new Error(`bad ${credential}`) }, 'refused');
  }
  t.equal(lines.length, 12);
  for (const line of lines) {
    t.notMatch(line, /AbCdEf0123456789/);
    t.match(JSON.parse(line).level, /info|error/, 'the line is still JSON');
  }
  log.info(
    { displayPrefix: 'svc_api_AbCdEf...', traceId: '4bf92f3577b34da6a3ce929d0e0e4736' },
    'x',
  );
  t.match(JSON.parse(lines.at(-1) ?? ''), { displayPrefix: 'svc_api_AbCdEf...', traceId: /^4bf9/ });
  t.end();
});

t.test('the last lines are written although the process exits in the same turn', (t) => {
  const program = programFile('last-lines');
  const { stderr, stdout, status } = spawnSync(process.execPath, [program], { encoding: 'utf8' });
  const lines = stderr.trim().split('\n');
  t.equal(lines.length, 500);
  t.match(JSON.parse(lines.at(-1) ?? ''), { line: 499 });
  t.equal(stdout, '', "standard output is not the log's");
  t.equal(status, 3);
  t.end();
});

/** Commands that start the program with a standard error whose reader has stopped. */
const stoppedReaders: Readonly<Record<string, (folder: string) => readonly string[]>> = {
  socket: () => [process.execPath, programFile('unread-log')],
  pipe: (folder) => [
    '/bin/sh',
    '-c',
    'mkfifo "$0"; sleep 600 < "$0" & "$@" 2> "$0"; code=$?; kill $!; exit $code',
    `${folder}/fifo`,
    process.execPath,
    programFile('unread-log'),
  ],
};

for (const [kind, command] of Object.entries(stoppedReaders)) {
  t.test(`a ${kind} whose reader stops holds up neither the process nor its exit`, async (t) => {
    const [program = '', ...args] = command(t.testdir());
    const child = spawn(program, args, { timeout: 120_000, killSignal: 'SIGKILL' });
    let told = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (told += text));
    // Waits for `exit`, not for `close`: a stream that nobody reads is never closed.
    t.strictSame(await once(child, 'exit'), [3, null]);
    t.ok(JSON.parse(told).ms < 60_000);
    child.stderr.destroy();
  });
}
