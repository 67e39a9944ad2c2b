import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { judgeClock } from '../../src/doctor/clock.js';
import { judgeFileLimit } from '../../src/doctor/file-limit.js';
import { judgeStore } from '../../src/doctor/store.js';
import type { StoreReport } from '../../src/doctor/store-walk.js';
import { judgeCertificate } from '../../src/doctor/tls.js';

const now = Date.UTC(2026, 5, 1);
const dayMs = 86_400_000;

t.test('a clock must be in a sane year, and should be synchronized', (t) => {
  t.match(judgeClock(now, true), { level: 'ok', message: /2026-06-01.*is synchronized/ });
  t.match(judgeClock(now, undefined), { level: 'ok', message: /does not tell/ });
  t.match(judgeClock(now, false), { level: 'warning', remedy: /timedatectl/ });
  t.match(judgeClock(Date.UTC(1970), true), { level: 'problem', message: /cannot be right/ });
  t.match(judgeClock(Date.UTC(2150), true), { level: 'problem' });
  t.end();
});

t.test('a gateway needs a file for each connection', (t) => {
  t.match(judgeFileLimit('It', 65_536), { level: 'ok' });
  t.match(judgeFileLimit('It', Infinity), { level: 'ok', message: /any number/ });
  t.match(judgeFileLimit('It', 4_096), { level: 'warning', remedy: /LimitNOFILE/ });
  t.match(judgeFileLimit('It', 1_023), { level: 'problem' });
  t.end();
});

t.test('a report of the store becomes findings with remedies', (t) => {
  const well: StoreReport = {
    records: 10,
    users: 2,
    damages: [],
    damageCount: 0,
    halfImported: [],
    newestAt: now,
  };
  t.match(judgeStore(well, now), [{ level: 'ok', message: /all 10 records/ }]);
  t.match(judgeStore({ ...well, damages: ['A is bad.'], damageCount: 3 }, now), [
    { level: 'problem', message: /3 of 10 records are damaged: A is bad. And 2 more/ },
  ]);
  t.match(judgeStore({ ...well, halfImported: ['usr_1'] }, now), [
    { level: 'ok' },
    { level: 'warning', remedy: /user import FILE/ },
  ]);
  t.match(judgeStore({ ...well, newestAt: now + 60_000 }, now), [
    { level: 'ok' },
    { level: 'warning', message: /in the future/ },
  ]);
  t.end();
});

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
t.test(
  'a certificate is told of two weeks before its end',
  { skip: hasOpenssl ? false : 'needs openssl' },
  (t) => {
    const file = join(t.testdir(), 'cert.pem');
    const made = spawnSync('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
      ...['-subj', '/CN=localhost', '-days', '30', '-keyout', `${file}.key`, '-out', file],
    ]);
    t.equal(made.status, 0, String(made.stderr));
    const pem = readFileSync(file);
    const madeAt = Date.now();
    t.match(judgeCertificate(pem, madeAt + dayMs), { level: 'ok' });
    t.match(judgeCertificate(pem, madeAt + 20 * dayMs), { level: 'warning' });
    t.match(judgeCertificate(pem, madeAt + 31 * dayMs), {
      level: 'problem',
      message: /expired at/,
    });
    t.match(judgeCertificate(pem, madeAt - dayMs), { level: 'problem', message: /only from/ });
    t.end();
  },
);
