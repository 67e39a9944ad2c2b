import t from 'tap';
import { activityLine } from '../../src/terminal/activity-line.js';
import { startTime, submitFrame } from './desk.js';

t.test('a line has time, what, which, and the rest, in columns', (t) => {
  const lines = [
    activityLine({ kind: 'submit', command: submitFrame('exe_1') }, startTime + 7),
    activityLine(
      {
        kind: 'report',
        executionId: 'exe_1',
        evidence: {
          status: 'rejected',
          reasonCode: 'market_closed',
          native: { text: 'Closed.' },
        },
      },
      startTime,
    ),
    activityLine(
      { kind: 'event', event: { event: 'position_update', data: { side: 'long', quantity: 2 } } },
      startTime,
    ),
  ];
  t.match(lines[0], /^12:00:00\.007 {2}submit {9}exe_1 +order\/submit \{"instrument":"ES"/);
  t.match(lines[1], /^12:00:00\.000 {2}report {9}exe_1 +rejected, market_closed, Closed\.$/);
  t.match(lines[2], /position_update {2}side long, quantity 2$/);
  t.equal(lines[0]?.indexOf('order/submit'), lines[1]?.indexOf('rejected'));
  t.end();
});

t.test('a text cannot write to the terminal of the operator', (t) => {
  const message = 'a\u001b[2J\r\nb\u202e';
  const line = activityLine({ kind: 'gateway_error', code: 'invalid_frame', message }, startTime);
  t.match(line, /invalid_frame: a\?\[2J\?\?b\?$/);
  t.end();
});
