import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import t from 'tap';
import { createHostMetrics } from '../../src/telemetry/host-metrics.js';
import { certificateEnd, certificatePem } from '../support/certificate.js';
import { SimulatedClock } from '../support/simulated-clock.js';

t.test(
  'a step of the wall clock shows, in both directions; time that passes does not',
  async (t) => {
    const clock = new SimulatedClock();
    const { clockStepSeconds, wallClockSeconds } = createHostMetrics({
      dataDir: t.testdir(),
      tlsCert: undefined,
      clock,
    });
    clock.advance(86_400_000);
    t.equal(clockStepSeconds(), 0);
    clock.stepWall(7_200_000);
    t.equal(clockStepSeconds(), 7_200);
    clock.stepWall(-7_203_000);
    clock.advance(1_000);
    t.equal(clockStepSeconds(), -3);
    t.equal(wallClockSeconds(), clock.now() / 1000);
  },
);

t.test('free space is what a program without privileges may still write', async (t) => {
  const dataDir = t.testdir();
  const hostMetrics = createHostMetrics({
    dataDir,
    tlsCert: undefined,
    clock: new SimulatedClock(),
  });
  const { blocks, bfree, bsize } = statfsSync(dataDir);
  const { freeBytes, sizeBytes } = hostMetrics.disk();
  t.equal(sizeBytes, blocks * bsize);
  t.ok(freeBytes > 0 && freeBytes <= bfree * bsize + 2 ** 30, `${freeBytes}`);
});

t.test('a data directory that is gone is an error, not a full or an empty disk', async (t) => {
  const dataDir = join(t.testdir(), 'gone');
  const { disk } = createHostMetrics({ dataDir, tlsCert: undefined, clock: new SimulatedClock() });
  t.throws(disk, { code: 'ENOENT' });
});

t.test('the certificate’s end is told for TLS, and for plain HTTP there is none', async (t) => {
  const dataDir = t.testdir({ 'cert.pem': certificatePem });
  const options = { dataDir, clock: new SimulatedClock() };
  const tlsCert = join(dataDir, 'cert.pem');
  t.equal(
    createHostMetrics({ ...options, tlsCert }).certificateExpirySeconds,
    certificateEnd / 1000,
  );
  t.equal(
    createHostMetrics({ ...options, tlsCert: undefined }).certificateExpirySeconds,
    undefined,
  );
});

t.test('the limit of the heap is Node’s own', async (t) => {
  const { heapLimitBytes } = createHostMetrics({
    dataDir: t.testdir(),
    tlsCert: undefined,
    clock: new SimulatedClock(),
  });
  t.equal(heapLimitBytes(), getHeapStatistics().heap_size_limit);
});
