/** What the terminal prints: one line for each thing that happens, for people and for programs, without secrets. */
import t from 'tap';
import { fixJson, fixLine } from '../../src/fix/fix-line.js';
import type { FixTerminalNotice } from '../../src/fix/fix-terminal.js';
import type { FixMessage } from '../../src/fix/message.js';

const at = Date.UTC(2026, 0, 15, 9, 8, 7, 6);
const logon: FixMessage = {
  type: 'A',
  fields: [
    [34, '1'],
    [553, 'ann'],
    [554, 'open'],
    [96, 'signature'],
  ],
};
const shown = '35=A|34=1|553=ann|554=***|96=***';

// oxfmt-ignore
const lines: readonly (readonly [notice: FixTerminalNotice, line: string])[] = [
  [{ kind: 'fix_connecting' },                                    'venue         connecting'],
  [{ kind: 'fix_logged_on' },                                     'venue         logged on'],
  [{ kind: 'fix_sent', message: logon },                          `sent          ${shown}`],
  [{ kind: 'fix_received', message: logon },                      `received      ${shown}`],
  [{ kind: 'fix_garbled', message: 'the checksum is wrong' },     'garbled       the checksum is wrong; passed over'],
  [{ kind: 'fix_warning', message: 'not certain' },               'warning       not certain'],
  [{ kind: 'fix_warning', message: 'not certain', executionId: 'exe_1' }, 'warning       exe_1: not certain'],
  [{ kind: 'fix_lost', message: 'no route', retryMs: 1_500 },     'venue lost    no route; trying again in 1.5 s'],
  [{ kind: 'fix_ended', message: 'closed' },                      'venue ended   closed'],
  [{ kind: 'connecting' },                                        'gateway       connecting'],
  [{ kind: 'connected', connectionId: 'con_1', lastSeq: 7 },      'gateway       connected as con_1, seq 7'],
  [{ kind: 'disconnected', closeCode: 1_006, message: 'gone', retryMs: 1_500 }, 'gateway lost  gone; trying again in 1.5 s'],
  [{ kind: 'refused', reason: 'replaced', message: 'another' },   'gateway       refused, replaced: another'],
  [{ kind: 'bad_frame' },                                         'gateway       an invalid frame; ignored'],
  [{ kind: 'gateway_error', code: 'too_fast', message: 'x' },     'gateway       error too_fast: x'],
  [{ kind: 'repeated', id: 'exe_1' },                             'repeated      exe_1 is known; not executed again'],
  [{ kind: 'failed', id: 'exe_1', message: 'broken' },            'failed        exe_1: broken'],
  [{ kind: 'fix_ended', message: 'a\x1bb\nc ' },                  'venue ended   a?b?c'],
];

t.test('each thing that happens is one line: its time, its kind, the details', async (t) => {
  for (const [notice, line] of lines) t.equal(fixLine(notice, at), `09:08:07.006  ${line}`);
});

t.test('for programs a line is the notice with its time, a message as its fields', async (t) => {
  const time = '2026-01-15T09:08:07.006Z';
  for (const [notice] of lines) {
    const isMessage = notice.kind === 'fix_sent' || notice.kind === 'fix_received';
    const expected = { time, ...notice, ...(isMessage ? { message: shown } : {}) };
    t.strictSame(JSON.parse(fixJson(notice, at)), expected);
  }
});
