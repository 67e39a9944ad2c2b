import t from 'tap';
import { setPatientTimer } from '../../src/lib/patient-timer.js';
import { SimulatedClock } from '../support/simulated-clock.js';

function waiting(delayMs: number) {
  const clock = new SimulatedClock();
  const told: number[] = [];
  const timer = setPatientTimer(clock, delayMs, () => told.push(clock.monotonic()));
  return { clock, told, timer };
}

t.test('one that is in time fires at once', async (t) => {
  const { clock, told } = waiting(1_000);
  clock.advance(2_000);
  t.strictSame(told, [1_000]);
});

t.test('one that is late waits as long again, half a second at most', async (t) => {
  for (const [lateMs, graceMs] of [
    [100, 100],
    [60_000, 500],
  ] as const) {
    const { clock, told } = waiting(1_000);
    clock.elapse(1_000 + lateMs);
    clock.advance(1_000);
    t.strictSame(told, [1_000 + lateMs + graceMs]);
  }
});

t.test('one that is cancelled never fires, be it late or not', async (t) => {
  for (const lateMs of [0, 100]) {
    const { clock, told, timer } = waiting(1_000);
    clock.elapse(900 + lateMs * 2);
    clock.advance(0);
    timer.cancel();
    clock.advance(2_000);
    t.strictSame(told, []);
  }
});
