import t from 'tap';
import { RequestBytes } from '../../bench/load/workloads/request-bytes.js';
import { workloads } from '../../bench/load/workloads.js';

const callers = Array.from({ length: 4 }, (_, i) => ({
  key: `svc_api_${`${i}`.padStart(43, 'k')}`,
  requestId: `req_${`${i}`.padStart(26, '0')}`,
  email: `user-${i}@example.com`,
}));

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

t.test('every workload writes whole requests, whose length is the one they announce', async (t) => {
  for (const [name, workload] of Object.entries(workloads)) {
    const source = workload.source(callers, 'run-0001');
    for (let sequence = 0; sequence < 10; sequence++) {
      const text = textOf(source.next(sequence));
      const [head = '', body] = text.split('\r\n\r\n');
      const announced = /content-length: (\d+)/i.exec(head)?.[1] ?? '0';
      t.equal(body?.length, Number(announced), name);
      t.notMatch(text, /[#]/, `${name} leaves no mark`);
      t.match(text, /^(GET|POST) \/\S+ HTTP\/1\.1\r\nHost: /, name);
    }
  }
});

t.test(
  'no two signals have the same key or id, and each has the time of its sending',
  async (t) => {
    const source = workloads.submit.source(callers, 'run-0001');
    const before = Date.now();
    const sent = [0, 1, 12_345].map((sequence) => textOf(source.next(sequence)));
    const after = Date.now();
    const ids = sent.map((text) => JSON.parse(text.split('\r\n\r\n')[1] as string));
    t.same(
      ids.map(({ signalId }) => signalId.slice(-19)),
      ['run-0001-0000000000', 'run-0001-0000000001', 'run-0001-0000012345'],
    );
    t.match(sent[2], /Idempotency-Key: run-0001-0000012345\r\n/);
    for (const { ts } of ids) t.ok(ts >= before && ts <= after);
  },
);

t.test('requests go round the callers, each with its own request to read', async (t) => {
  const source = workloads.status.source(callers, 'run-0001');
  for (const sequence of [0, 1, 5, 7]) {
    const caller = callers[sequence % 4];
    const text = textOf(source.next(sequence));
    t.ok(text.includes(`/${caller?.requestId} `) && text.includes(`Bearer ${caller?.key}\r\n`));
  }
});

t.test(
  'mixed: half of the callers submit at any time, and each caller does so every second time',
  async (t) => {
    const source = workloads.mixed.source(callers, 'run-0001');
    const methods = Array.from({ length: 12 }, (_, i) => textOf(source.next(i)).slice(0, 1)).join(
      '',
    );
    t.equal(methods, 'PGPGGPGPPGPG');
  },
);

t.test('a place that is not there exactly once is a mistake in the workload', async (t) => {
  const request = new RequestBytes(['GET /aa/aa HTTP/1.1']);
  t.throws(() => request.place('aa'), /exactly once/);
  t.throws(() => request.place('bb'), /exactly once/);
});
