/**
 * The session test cases of the FIX standard on the content of a message, by their numbers there, as the acceptance
 * definitions of QuickFIX name them. The session's own messages are checked whole, a venue's reports only in the
 * fields that decide, since every venue has fields and values of its own.
 */
import t from 'tap';
import type { Field } from '../../src/fix/message.js';
import { toFixTime } from '../../src/fix/fix-time.js';
import { bodyRefusal, headerRefusal } from '../../src/fix/session-rules.js';
import { tags } from '../../src/fix/tags.js';
import { logon, playCases, type Cases } from './session-transcript.js';

const cases: Cases = {
  '14a a tag number that is none': {
    text: `${logon}
      < 35=0|34=2|0=HI
      = unread
      > 35=3|34=2|45=2|58=Invalid tag number|371=0|372=0|373=0
      < 35=0|34=3|-1=HI
      = unread
      > 35=3|34=3|45=3|58=Invalid tag number|371=-1|372=0|373=0`,
    in: 4,
  },
  "14a a tag that the standard does not define is the venue's own": {
    text: `${logon}
      < 35=1|34=2|9999=HI|112=HELLO
      > 35=0|34=2|112=HELLO
      < 35=8|34=3|39=0|9999=HI|0=HI
      = deliver 35=8|34=3|39=0|9999=HI|0=HI`,
    in: 4,
  },
  '14b required field missing': {
    text: `${logon}
      < 35=1|34=2
      = unread
      > 35=3|34=2|45=2|58=Required tag missing|371=112|372=1|373=1`,
    in: 3,
  },
  '14c a tag of another message is passed over': {
    text: `${logon}
      < 35=1|34=2|112=HELLO|41=order-1
      > 35=0|34=2|112=HELLO`,
    in: 3,
  },
  '14d field without a value': {
    text: `${logon}
      < 35=1|34=2|112=HELLO|58=
      = unread
      > 35=3|34=2|45=2|58=Tag specified without a value|371=58|372=1|373=4
      < 35=8|34=3|39=0|58=
      = deliver 35=8|34=3|39=0|58=`,
    in: 4,
  },
  '14e a flag that is neither Y nor N': {
    text: `${logon}
      < 35=4|34=2|123=X|36=20
      = unread
      > 35=3|34=2|45=2|58=Value is incorrect (out of range) for this tag|371=123|372=4|373=5
      < 35=0|34=3|43=X
      = unread
      > 35=3|34=3|45=3|58=Value is incorrect (out of range) for this tag|371=43|372=0|373=5`,
    in: 4,
  },
  "14e a value of a report that the standard does not define is the venue's own": {
    text: `${logon}
      < 35=8|34=2|39=Z|150=Z
      = deliver 35=8|34=2|39=Z|150=Z`,
    in: 3,
  },
  '14f a number that is none': {
    text: `${logon}
      < 35=4|34=2|123=Y|36=x
      = unread
      > 35=3|34=2|45=2|58=Incorrect data format for value|371=36|372=4|373=6`,
    in: 3,
  },
  '14g header, body and trailer out of order': {
    text: `${logon}
      < 35=1|112=HELLO|34=2
      = unread
      > 35=3|34=2|45=2|58=Tag specified out of required order|371=34|372=1|373=14
      < 35=1|34=3|89=signature|112=HELLO
      = unread
      > 35=3|34=3|45=3|58=Tag specified out of required order|371=112|372=1|373=14
      < 35=8|39=0|34=4
      = deliver 35=8|39=0|34=4`,
    in: 5,
  },
  '14h a tag more than once': {
    text: `${logon}
      < 35=1|34=2|112=HELLO|112=AGAIN
      = unread
      > 35=3|34=2|45=2|58=Tag appears more than once|371=112|372=1|373=13
      < 35=8|34=3|39=2|14=100|14=50
      = unread
      > 35=3|34=3|45=3|58=Tag appears more than once|371=14|372=8|373=13
      < 35=8|34=4|39=0|448=A|448=B
      = deliver 35=8|34=4|39=0|448=A|448=B`,
    in: 5,
  },
  '14h FIX 4.2 has no reason for a field that is given twice, and so the Reject has none': {
    text: `
      ! connect
      > 35=A|34=1|98=0|108=30
      < 8=FIX.4.2|35=A|34=1|98=0|108=30
      = logged_on
      < 8=FIX.4.2|35=8|34=2|39=0|14=1|14=2
      = unread
      > 35=3|34=2|45=2|58=Tag appears more than once|371=14|372=8`,
    options: { beginString: 'FIX.4.2' },
    in: 3,
  },
  '14i a group with another count': {
    text: `${logon}
      < 35=0|34=2|627=2|628=HUB
      = unread
      > 35=3|34=2|45=2|58=Incorrect NumInGroup count for repeating group|371=627|372=0|373=16
      < 35=0|34=3|627=2|628=HUB|628=OTHER`,
    in: 4,
  },
  '15 fields in another order': {
    text: `${logon}
      < 43=N|34=2|35=4|36=20|123=Y
      = unread`,
    in: 20,
  },
  '19 a report that is sent again under a new number is handed on': {
    text: `${logon}
      < 35=8|34=2|17=E1|39=2
      = deliver 35=8|34=2|17=E1|39=2
      < 35=8|34=3|97=Y|17=E1|39=2
      = deliver 35=8|34=3|97=Y|17=E1|39=2`,
    in: 4,
  },
  '21 a group without entries': {
    text: `${logon}
      < 35=0|34=2|627=0
      < 35=8|34=3|39=0|453=0
      = deliver 35=8|34=3|39=0|453=0`,
    in: 4,
  },
  'a refused message within a gap that is filled: those behind it go on in order': {
    text: `${logon}
      < 35=1|34=3|112=HELLO1
      > 35=2|34=2|7=2|16=0
      < 35=8|34=2|43=Y|122=+0|11=a
      = unread
      > 35=3|34=3|45=2|58=Required tag missing|371=39|372=8|373=1
      > 35=0|34=4|112=HELLO1
      < 35=1|34=4|112=HELLO2
      > 35=0|34=5|112=HELLO2`,
    in: 5,
  },
  'a refusal goes back the way that the message came': {
    text: `${logon}
      < 35=8|34=2|115=JCD|116=CS|144=CHI|11=a
      = unread
      > 35=3|34=2|128=JCD|129=CS|145=CHI|45=2|58=Required tag missing|371=39|372=8|373=1
      < 35=W|34=3|128=JCD|129=|55=INTC
      > 35=j|34=3|115=JCD|45=3|372=W|380=3|58=Unsupported Message Type
      < 35=0|34=4|115=JCD|115=CS
      = unread
      > 35=3|34=4|128=JCD|45=4|58=Tag appears more than once|371=115|372=0|373=13`,
    in: 5,
  },
  'a second logon within the session changes nothing': {
    text: `${logon}
      < 35=A|34=2|98=0|108=30
      < 35=1|34=3|112=HELLO
      > 35=0|34=2|112=HELLO`,
    in: 4,
  },
};

playCases(t, cases);

t.test('a report that says twice what decides is refused, by each field', async (t) => {
  const { ClOrdID, OrdStatus, ExecID, ExecType, CumQty, LeavesQty, AvgPx, LastQty, LastPx } = tags;
  const decisive = [
    ClOrdID,
    OrdStatus,
    ExecID,
    ExecType,
    CumQty,
    LeavesQty,
    AvgPx,
    LastQty,
    LastPx,
  ];
  const fields = decisive.map((tag): Field => [tag, '1']);
  const report = { beginString: 'FIX.4.4', type: '8' };
  t.equal(bodyRefusal({ ...report, fields }), undefined);
  for (const tag of decisive) {
    const twice = { ...report, fields: [...fields, [tag, '2'] as Field] };
    t.strictSame(bodyRefusal(twice), { reason: 'tagRepeated', tag });
  }
  t.equal(bodyRefusal({ ...report, fields: [...fields, [58, 'a'], [58, 'b']] }), undefined);
});

t.test('what a message must have is missed, each by its tag', async (t) => {
  const { TestReqID, BeginSeqNo, EndSeqNo, NewSeqNo, OrdStatus, ClOrdID } = tags;
  const required: Record<string, number[]> = {
    '1': [TestReqID],
    '2': [BeginSeqNo, EndSeqNo],
    '4': [NewSeqNo],
    '8': [OrdStatus],
    '9': [ClOrdID],
  };
  for (const [type, all] of Object.entries(required)) {
    for (const tag of all) {
      const fields = all.filter((each) => each !== tag).map((each): Field => [each, '1']);
      const refusal = bodyRefusal({ beginString: 'FIX.4.4', type, fields });
      t.strictSame(refusal, { reason: 'requiredTagMissing', tag });
    }
  }
  const text: Field[] = [
    [BeginSeqNo, '1'],
    [EndSeqNo, 'x'],
  ];
  const refusal = bodyRefusal({ beginString: 'FIX.4.4', type: '2', fields: text });
  t.strictSame(refusal, { reason: 'wrongDataFormat', tag: EndSeqNo });
});

t.test(
  'SendingTime is within two minutes of the time of the connection, by our clock',
  async (t) => {
    const names = { senderCompId: 'US', targetCompId: 'VENUE' };
    const connectedMs = Date.UTC(2026, 0, 15);
    const isRefused = (nowSec: number, sentSec: number): boolean => {
      const fields: Field[] = [
        [tags.SenderCompID, 'VENUE'],
        [tags.TargetCompID, 'US'],
        [tags.SendingTime, toFixTime(connectedMs + sentSec * 1_000)],
      ];
      const message = { beginString: 'FIX.4.4', type: '0', fields };
      return headerRefusal(message, names, connectedMs + nowSec * 1_000, connectedMs) !== undefined;
    };
    // oxfmt-ignore
    const cases: readonly (readonly [now: number, ...sent: [number, boolean][]])[] = [
    [0,      [-121, true], [-120, false], [120, false], [121, true]],
    [600,    [-121, true], [-120, false], [720, false], [721, true]],
    // The clock has gone back since.
    [-3_600, [-3_721, true], [-3_720, false], [-3_480, false], [-3_479, true]],
  ];
    for (const [now, ...sent] of cases) {
      for (const [at, refused] of sent) t.equal(isRefused(now, at), refused, `${now} ${at}`);
    }
  },
);
