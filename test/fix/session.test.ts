/**
 * The session test cases of the FIX standard, by their numbers there, as the acceptance definitions of QuickFIX
 * name them; an initiator is on the other side of each. Cases that need bytes are in frame-reader.test.ts.
 */
import t from 'tap';
import { toFixTime } from '../../src/fix/fix-time.js';
import { tags } from '../../src/fix/tags.js';
import { SimulatedClock } from '../support/simulated-clock.js';
import {
  incoming,
  logon,
  logonSent,
  names,
  newSession,
  playCases,
  type Cases,
} from './session-transcript.js';

const logout = (theirs: number, ours: number): string => `
  < 35=5|34=${theirs}
  > 35=5|34=${ours}
  = end logged_out`;

const cases: Cases = {
  '1a valid logon, number as expected': { text: `${logon}${logout(2, 2)}`, out: 3, in: 3 },
  '1a valid logon, number too high: what is missing is asked for': {
    text: `${logonSent}
      < 35=A|34=5|98=0|108=30
      > 35=2|34=2|7=1|16=0
      = logged_on
      < 35=4|34=1|43=Y|122=+0|123=Y|36=6
      = unread
      < 35=0|34=6`,
    in: 7,
  },
  '1a valid logon, number too low': {
    text: `
      ! connect
      > 35=A|34=9|98=0|108=30
      < 35=A|34=3|98=0|108=30
      > 35=5|34=10|58=MsgSeqNum too low, expecting 5 but received 3. The counterparty has begun its sequence anew. Check at the venue which orders it holds, then agree on a reset with it: start once with resetOnLogon true.
      = end sequence`,
    options: { numbers: { out: 9, in: 5 } },
    in: 5,
  },
  '1 logon with reset': {
    text: `
      ! connect
      = reset
      > 35=A|34=1|98=0|108=30|141=Y
      < 35=A|34=1|98=0|108=30|141=Y
      = logged_on`,
    options: { resetOnLogon: true, numbers: { out: 12, in: 8 } },
    out: 2,
    in: 2,
  },
  '1 the counterparty begins anew unasked': {
    text: `
      ! connect
      > 35=A|34=12|98=0|108=30
      < 35=A|34=1|98=0|108=30|141=Y
      = reset
      = logged_on`,
    options: { numbers: { out: 12, in: 8 } },
    out: 2,
    in: 2,
  },
  '1 the logon is confirmed before anything else leaves': {
    text: `
      ! connect
      > 35=A|34=7|98=0|108=30
      < 35=A|34=1|98=0|108=30
      > 35=1|34=8|112=T8
      < 35=2|34=2|7=5|16=0
      > 35=4|34=5|43=Y|123=Y|36=9
      = missed 5-8
      > 35=1|34=9|112=T9
      < 35=0|34=3|112=T8
      < 35=0|34=4|112=T9
      = logged_on`,
    options: { confirmsLogon: true, numbers: { out: 7, in: 1 } },
    out: 10,
  },
  '1 a logon that is not confirmed': {
    text: `
      ~ 100
      ! connect
      > 35=A|34=1|98=0|108=30
      < 35=A|34=1|98=0|108=30
      > 35=1|34=2|112=T2
      + 9
      + 1
      = end silent`,
    options: { confirmsLogon: true },
  },
  '1 a logon is confirmed behind what is sent again, however long that takes': {
    text: `
      ! connect
      > 35=A|34=1|98=0|108=60
      < 35=A|34=4|98=0|108=60
      > 35=2|34=2|7=1|16=0
      > 35=1|34=3|112=T3
      + 20
      < 35=8|34=1|43=Y|122=+0|39=0
      = deliver 35=8|34=1|43=Y|39=0
      + 20
      < 35=8|34=2|43=Y|122=+0|39=1
      = deliver 35=8|34=2|43=Y|39=1
      < 35=8|34=3|43=Y|122=+0|39=2
      = deliver 35=8|34=3|43=Y|39=2
      < 35=4|34=4|43=Y|122=+0|123=Y|36=5
      = unread
      + 9
      < 35=0|34=5|112=T3
      = logged_on`,
    options: { confirmsLogon: true, heartBtIntSec: 60 },
    in: 6,
  },
  '1 a logon behind a gap that nothing fills ends the session': {
    text: `${logonSent}
      < 35=A|34=4|98=0|108=30
      > 35=2|34=2|7=1|16=0
      > 35=1|34=3|112=T3
      < 35=0|34=5|112=T3
      + 29
      < 35=0|34=6
      + 1
      > 35=0|34=4
      = end silent`,
    options: { confirmsLogon: true },
    in: 1,
  },
  '1 refused logon': {
    text: `${logonSent}
      < 35=5|34=1|58=Invalid username or password
      = end refused`,
  },
  '1 a logon that a Reject refuses, whose number is taken': {
    text: `${logonSent}
      < 35=3|34=1|45=1
      = end refused`,
    in: 2,
  },
  '1 a refusal whose number is too high: what is missing is asked for later': {
    text: `${logonSent}
      < 35=5|34=3
      = end refused`,
    in: 1,
  },
  '1 refused logon, because our number is too low': {
    text: `${logonSent}
      < 35=5|34=1|58=MsgSeqNum too low, expecting 40 but received 1
      = end sequence`,
  },
  ...Object.fromEntries(
    [
      ['MsgSeqNum(34) is less than expected', 'sequence'],
      ['invalid sequence number: expected 40', 'sequence'],
      ['SeqNo lower than 40', 'sequence'],
      ['Account locked: subsequent logons are not allowed', 'refused'],
      ['Closed; consequently no logon is expected before Monday', 'refused'],
      ['A sequence reset is not allowed', 'refused'],
      ['No further logon will follow this sequence unless you call us', 'refused'],
    ].map(([text, reason]) => [
      `1 refused logon, ${text}`,
      {
        text: `${logonSent}
          < 35=5|34=1|58=${text}
          = end ${reason}`,
      },
    ]),
  ),
  '1 no answer to the logon': {
    text: `${logonSent}
      + 9
      + 1
      = end silent`,
  },
  '1c invalid SenderCompID at logon': {
    text: `${logonSent}
      < 35=A|34=1|49=WT|98=0|108=30
      = end refused`,
  },
  '1c invalid TargetCompID at logon': {
    text: `${logonSent}
      < 35=A|34=1|56=DLSI|98=0|108=30
      = end refused`,
  },
  '1d invalid SendingTime at logon': {
    text: `${logonSent}
      < 35=A|34=1|52=20010101-00:00:00|98=0|108=30
      = end refused`,
  },
  '1d wrong BeginString at logon': {
    text: `${logonSent}
      < 8=FIX.4.2|35=A|34=1|98=0|108=30
      > 35=5|34=2|58=Incorrect BeginString: FIX.4.2, not FIX.4.4
      = end protocol`,
  },
  '1e the first message is no logon': {
    text: `${logonSent}
      < 35=0|34=1
      = end protocol`,
  },
  '2a numbers as expected': { text: `${logon}\n< 35=0|34=2\n< 35=0|34=3`, in: 4 },
  '2b number too high: asked for once, kept until it is there': {
    text: `${logon}
      < 35=0|34=2
      < 35=8|34=5|39=0
      > 35=2|34=2|7=3|16=0
      < 35=8|34=6|39=1
      < 35=8|34=3|43=Y|122=+0|39=A
      = deliver 35=8|34=3|43=Y|39=A
      < 35=0|34=4|43=Y|122=+0
      = deliver 35=8|34=5|39=0
      = deliver 35=8|34=6|39=1
      < 35=8|34=5|43=Y|122=+0|39=0
      < 35=8|34=6|43=Y|122=+0|39=1
      < 35=8|34=7|39=2
      = deliver 35=8|34=7|39=2`,
    in: 8,
  },
  '2b a gap that nobody fills is asked for again': {
    text: `${logon}
      < 35=0|34=9
      > 35=2|34=2|7=2|16=0
      + 29
      < 35=0|34=10
      + 1
      > 35=0|34=3
      > 35=2|34=4|7=2|16=0`,
    in: 2,
  },
  '2b a gap that is filled slowly is asked for once': {
    text: `${logon}
      < 35=0|34=9
      > 35=2|34=2|7=2|16=0
      + 29
      < 35=8|34=2|43=Y|122=+0|39=A
      = deliver 35=8|34=2|43=Y|39=A
      + 1
      > 35=0|34=3
      + 29
      + 1
      > 35=0|34=4
      > 35=2|34=5|7=3|16=0`,
    in: 3,
  },
  '2c number too low': {
    text: `${logon}
      < 35=0|34=2
      < 35=0|34=3
      < 35=0|34=2
      > 35=5|34=2|58=MsgSeqNum too low, expecting 4 but received 2. The counterparty has begun its sequence anew. Check at the venue which orders it holds, then agree on a reset with it: start once with resetOnLogon true.
      = end sequence`,
    in: 4,
  },
  '2e possible duplicate, already received': {
    text: `${logon}
      < 35=8|34=2|39=0
      = deliver 35=8|34=2|39=0
      < 35=8|34=2|43=Y|122=+0|39=0
      < 35=0|34=3`,
    in: 4,
  },
  '2e possible duplicate, not yet received': {
    text: `${logon}
      < 35=8|34=2|43=Y|122=+0|39=0
      = deliver 35=8|34=2|43=Y|39=0`,
    in: 3,
  },
  '2f possible duplicate, first sent after it was sent': {
    text: `${logon}
      < 35=0|34=2
      < 35=8|34=2|43=Y|122=+10|39=0
      > 35=3|34=2|45=2|58=SendingTime accuracy problem|372=8|373=10
      > 35=5|34=3|58=SendingTime accuracy problem
      = end protocol`,
    in: 3,
  },
  '2g possible duplicate without the time when it was first sent': {
    text: `${logon}
      < 35=0|34=2
      < 35=8|34=2|43=Y|39=0
      > 35=3|34=2|45=2|58=Required tag missing|371=122|372=8|373=1
      < 35=1|34=3|112=HELLO
      > 35=0|34=3|112=HELLO`,
    in: 4,
  },
  '2i another BeginString within the session': {
    text: `${logon}
      < 8=FIX.4.1|35=1|34=2|112=id
      > 35=5|34=2|58=Incorrect BeginString: FIX.4.1, not FIX.4.4
      = end protocol`,
  },
  '2k another SenderCompID': {
    text: `${logon}
      < 35=8|34=2|49=WT|39=0
      = unread
      > 35=3|34=2|45=2|58=CompID problem|372=8|373=9
      > 35=5|34=3|58=CompID problem
      = end protocol`,
  },
  '2k another TargetCompID': {
    text: `${logon}
      < 35=8|34=2|56=DLSI|39=0
      = unread
      > 35=3|34=2|45=2|58=CompID problem|372=8|373=9
      > 35=5|34=3|58=CompID problem
      = end protocol`,
  },
  '2o SendingTime more than two minutes early': {
    text: `${logon}
      < 35=0|34=2|52=-121
      = unread
      > 35=3|34=2|45=2|58=SendingTime accuracy problem|372=0|373=10
      > 35=5|34=3|58=SendingTime accuracy problem
      = end protocol`,
  },
  '2o a message may be as old as the connection, in which it waits behind others': {
    text: `${logon}
      ~ 29
      < 35=0|34=2|52=-149
      < 35=0|34=3|52=-150
      = unread
      > 35=3|34=2|45=3|58=SendingTime accuracy problem|372=0|373=10
      > 35=5|34=3|58=SendingTime accuracy problem
      = end protocol`,
    in: 4,
  },
  '2o SendingTime more than two minutes late': {
    text: `${logon}
      < 35=0|34=2|52=+121
      = unread
      > 35=3|34=2|45=2|58=SendingTime accuracy problem|372=0|373=10
      > 35=5|34=3|58=SendingTime accuracy problem
      = end protocol`,
  },
  '2q a MsgType that is none': {
    text: `${logon}
      < 35=*|34=2
      = unread
      > 35=3|34=2|45=2|58=Invalid MsgType|372=*|373=11
      < 35=0|34=3`,
    in: 4,
  },
  '2q a MsgType without a value: the Reject has none either': {
    text: `${logon}
      < 35=|34=2
      = unread
      > 35=3|34=2|45=2|58=Invalid MsgType|373=11`,
    in: 3,
  },
  '2r a MsgType that is not supported': {
    text: `${logon}
      < 35=W|34=2|55=INTC
      > 35=j|34=2|45=2|372=W|380=3|58=Unsupported Message Type
      < 35=0|34=3`,
    in: 4,
  },
  '4a nothing to send for the heartbeat interval': {
    text: `${logon}
      + 30
      > 35=0|34=2
      < 35=0|34=2
      + 30
      > 35=0|34=3`,
  },
  '4b test request': {
    text: `${logon}
      < 35=1|34=2|112=HELLO
      > 35=0|34=2|112=HELLO`,
  },
  '6 a silent counterparty is tested, then given up': {
    text: `${logon}
      + 36
      > 35=0|34=2
      > 35=1|34=3|112=T3
      < 35=0|34=2|112=T3
      + 36
      > 35=0|34=4
      > 35=1|34=5|112=T5
      + 35
      > 35=0|34=6
      + 1
      = end silent`,
  },
  '6 after a pause of its own a counterparty is tested, not given up': {
    text: `${logon}
      ~ 100
      > 35=1|34=2|112=T2
      + 30
      > 35=0|34=3
      + 6
      = end silent`,
  },
  '7 a reject goes to the sender of what it refers to': {
    text: `${logon}
      ! order-1
      > 35=D|34=2|11=order-1
      < 35=3|34=2|45=2|58=no
      = deliver 35=3|34=2|45=2|58=no`,
    in: 3,
  },
  '8 admin and application messages are asked for again: all are filled, none is sent twice': {
    text: `${logon}
      < 35=1|34=2|112=HELLO
      > 35=0|34=2|112=HELLO
      ! order-1
      > 35=D|34=3|11=order-1
      ! order-2
      > 35=D|34=4|11=order-2
      < 35=2|34=3|7=1|16=0
      > 35=4|34=1|43=Y|123=Y|36=5
      = missed 1-4
      < 35=2|34=4|7=3|16=3
      > 35=4|34=3|43=Y|123=Y|36=4
      = missed 3-3
      < 35=2|34=5|7=2|16=999999
      > 35=4|34=2|43=Y|123=Y|36=5
      = missed 2-4`,
    out: 5,
    in: 6,
  },
  '8 a resend request for what was never sent': {
    text: `${logon}
      < 35=2|34=2|7=7|16=0
      > 35=3|34=2|45=2|58=Value is incorrect (out of range) for this tag|371=7|372=2|373=5`,
  },
  '10 gap fill, number as expected': {
    text: `${logon}
      < 35=4|34=2|123=Y|36=20
      = unread
      < 35=1|34=20|112=HELLO
      > 35=0|34=2|112=HELLO`,
    in: 21,
  },
  '10 gap fill, number too high': {
    text: `${logon}
      < 35=4|34=10|123=Y|36=20
      > 35=2|34=2|7=2|16=0
      < 35=1|34=20|112=HELLO`,
    in: 2,
  },
  '10 gap fill over what has come ahead: that is taken, and its number is not asked for again': {
    text: `
      ${logon}
      < 35=8|34=4|39=1|17=E1
      > 35=2|34=2|7=2|16=0
      < 35=1|34=5|112=here
      < 35=8|34=8|39=2|17=E2
      < 35=4|34=2|43=Y|122=+0|123=Y|36=7
      = deliver 35=8|34=4|39=1|17=E1
      > 35=0|34=3|112=here
      = unread
      < 35=4|34=7|43=Y|122=+0|123=Y|36=8
      = unread
      = deliver 35=8|34=8|39=2|17=E2`,
    in: 9,
  },
  '2 a message that is refused ends a gap: what has come ahead is taken at once': {
    text: `
      ${logon}
      < 35=8|34=3|39=2|17=E2
      > 35=2|34=2|7=2|16=0
      < 35=8|34=2|52=now|39=1|17=E1
      = unread
      > 35=3|34=3|45=2|58=Incorrect data format for value|371=52|372=8|373=6
      = deliver 35=8|34=3|39=2|17=E2`,
    in: 4,
  },
  '10 gap fill, number too low': {
    text: `${logon}
      < 35=4|34=1|43=Y|122=-1|123=Y|36=20
      < 35=1|34=2|112=HELLO
      > 35=0|34=2|112=HELLO
      < 35=4|34=1|123=Y|36=20
      > 35=5|34=3|58=MsgSeqNum too low, expecting 3 but received 1. The counterparty has begun its sequence anew. Check at the venue which orders it holds, then agree on a reset with it: start once with resetOnLogon true.
      = end sequence`,
    in: 3,
  },
  '10 gap fill to before itself': {
    text: `${logon}
      < 35=4|34=2|123=Y|36=2
      > 35=3|34=2|45=2|58=Value is incorrect (out of range) for this tag|371=36|372=4|373=5
      = unread`,
    in: 3,
  },
  '11a sequence reset, NewSeqNo greater': {
    text: `${logon}
      < 35=4|34=0|36=25
      = unread
      < 35=1|34=25|112=HELLO
      > 35=0|34=2|112=HELLO
      < 35=4|34=0|36=50|123=N
      = unread
      < 35=1|34=50|112=HELLO
      > 35=0|34=3|112=HELLO`,
    in: 51,
  },
  '11 sequence reset over what has come ahead, and up to it: that is taken': {
    text: `
      ${logon}
      < 35=8|34=4|39=1|17=E1
      > 35=2|34=2|7=2|16=0
      < 35=8|34=7|39=2|17=E2
      < 35=4|34=2|36=7
      = deliver 35=8|34=4|39=1|17=E1
      = unread
      = deliver 35=8|34=7|39=2|17=E2`,
    in: 8,
  },
  '11b sequence reset, NewSeqNo equal': {
    text: `${logon}
      < 35=4|34=0|36=2
      < 35=1|34=2|112=HELLO
      > 35=0|34=2|112=HELLO`,
    in: 3,
  },
  '11c sequence reset, NewSeqNo less': {
    text: `${logon}
      < 35=4|34=0|36=1
      > 35=3|34=2|45=0|58=Value is incorrect (out of range) for this tag|371=36|372=4|373=5
      < 35=1|34=2|112=HELLO
      > 35=0|34=3|112=HELLO`,
    in: 3,
  },
  '13b unsolicited logout': { text: `${logon}${logout(2, 2)}`, in: 3 },
  '13 logout of our own': {
    text: `${logon}
      ! log out
      > 35=5|34=2
      < 35=8|34=2|39=2
      = deliver 35=8|34=2|39=2
      < 35=5|34=3
      = end logged_out`,
    in: 4,
  },
  '13 logout of our own without an answer': {
    text: `${logon}
      ! log out
      > 35=5|34=2
      + 1
      + 1
      = end logged_out`,
  },
  '13 logout of our own without an answer, while this side has to answer': {
    text: `${logon}
      + 5
      ! log out
      > 35=5|34=2
      + 1
      < 35=W|34=2|55=INTC
      > 35=j|34=3|45=2|372=W|380=3|58=Unsupported Message Type
      + 1
      = end logged_out`,
  },
  '13 logout of our own before the logon is answered': {
    text: `${logonSent}
      ! log out
      = end logged_out`,
    out: 2,
  },
  '13 logout of our own before the logon is confirmed: it counts as none': {
    text: `${logonSent}
      < 35=A|34=1|98=0|108=30
      > 35=1|34=2|112=T2
      ! log out
      > 35=5|34=3
      < 35=0|34=2|112=T2
      < 35=5|34=3
      = end logged_out`,
    options: { confirmsLogon: true },
    in: 4,
  },
  'a logon after a long time without a connection has its own time': {
    text: `${logon}
      ! lose
      ~ 100
      ! connect
      > 35=A|34=2|98=0|108=30
      + 9
      < 35=A|34=2|98=0|108=30
      = logged_on`,
  },
  'a connection that is lost says nothing more': {
    text: `${logon}
      ! lose
      < 35=1|34=2|112=HELLO
      + 100`,
    in: 2,
  },
  'what had come ahead is nothing to a counterparty that begins anew': {
    text: `${logon}
      < 35=8|34=4|39=0
      > 35=2|34=2|7=2|16=0
      ! lose
      ! connect
      > 35=A|34=3|98=0|108=30
      < 35=A|34=1|98=0|108=30|141=Y
      = reset
      = logged_on
      < 35=0|34=2
      < 35=0|34=3
      < 35=8|34=5|39=0
      > 35=2|34=2|7=4|16=0
      < 35=A|34=1|98=0|108=30|141=Y
      = unread
      = reset
      > 35=A|34=1|98=0|108=30|141=Y
      < 35=0|34=2
      < 35=0|34=3
      < 35=0|34=4
      < 35=0|34=5`,
    in: 6,
  },
  'a logon with a reset that is sent again begins nothing anew': {
    text: `
      ! connect
      > 35=A|34=7|98=0|108=30
      < 35=A|34=4|98=0|108=30
      > 35=2|34=8|7=1|16=0
      = logged_on
      < 35=A|34=1|43=Y|122=+0|98=0|108=30|141=Y
      < 35=8|34=2|43=Y|122=+0|39=0
      = deliver 35=8|34=2|43=Y|39=0
      < 35=A|34=1|43=Y|122=+0|98=0|108=30|141=Y`,
    options: { numbers: { out: 7, in: 1 } },
    out: 9,
    in: 3,
  },
  '13 a logout whose number is too high is answered all the same': {
    text: `${logon}
      < 35=5|34=5
      > 35=5|34=2
      = end logged_out`,
    in: 2,
  },
  '11 a sequence reset that does not say to which number': {
    text: `${logon}
      < 35=4|34=2|123=N
      > 35=3|34=2|45=2|58=Required tag missing|371=36|372=4|373=1
      < 35=0|34=2`,
    in: 3,
  },
  '8 a resend request ahead that does not say up to which number: nothing is filled': {
    text: `${logon}
      < 35=2|34=5|7=1
      > 35=2|34=2|7=2|16=0`,
    in: 2,
  },
  'a bad message ahead takes no number': {
    text: `${logon}
      < 35=8|34=5|39=0|52=x
      > 35=3|34=2|45=5|58=Incorrect data format for value|371=52|372=8|373=6
      < 35=0|34=2`,
    in: 3,
  },
  'a flag of a logon in another message begins nothing anew': {
    text: `${logon}
      < 35=0|34=2|141=Y`,
    in: 3,
  },
  '20 simultaneous resend requests': {
    text: `${logon}
      ! order-1
      > 35=D|34=2|11=order-1
      < 35=0|34=4
      > 35=2|34=3|7=2|16=0
      < 35=2|34=5|7=2|16=0
      > 35=4|34=2|43=Y|123=Y|36=4
      = missed 2-3
      < 35=0|34=2|43=Y|122=+0
      < 35=0|34=3|43=Y|122=+0
      < 35=0|34=6`,
    in: 7,
  },
  'the counterparty asks within the session to begin anew': {
    text: `${logon}
      ! order-1
      > 35=D|34=2|11=order-1
      < 35=A|34=1|98=0|108=30|141=Y
      = unread
      = reset
      > 35=A|34=1|98=0|108=30|141=Y
      < 35=0|34=2`,
    out: 2,
    in: 3,
  },
  'the counterparty begins anew while the logon is being confirmed: the test is sent again': {
    text: `
      ! connect
      > 35=A|34=7|98=0|108=30
      < 35=A|34=1|98=0|108=30
      > 35=1|34=8|112=T8
      < 35=A|34=1|98=0|108=30|141=Y
      = unread
      = reset
      > 35=A|34=1|98=0|108=30|141=Y
      > 35=1|34=2|112=T2
      < 35=0|34=2|112=T2
      = logged_on`,
    options: { confirmsLogon: true, numbers: { out: 7, in: 1 } },
    out: 3,
  },
  'a message without a number': {
    text: `${logon}
      < 35=0
      > 35=5|34=2|58=MsgSeqNum is missing
      = end protocol`,
  },
  'a refusal of a refusal is not given': {
    text: `${logon}\n< 35=3|34=2\n= deliver 35=3|34=2`,
    in: 3,
  },
  'what comes after the end has no effect': {
    text: `${logon}${logout(2, 2)}
      < 35=1|34=3|112=HELLO
      + 100`,
    in: 3,
  },
};

playCases(t, cases);

t.test('a session counts as logged on from its confirmation to its end', async (t) => {
  const clock = new SimulatedClock();
  const session = newSession(clock, { confirmsLogon: true });
  const steps: readonly [act: () => unknown, isLoggedOn: boolean][] = [
    [() => session.connected(), false],
    [() => session.received(incoming('35=A|34=1', clock)), false],
    [() => session.received(incoming('35=0|34=2|112=other', clock)), false],
    [() => session.received(incoming('35=0|34=3|112=T2', clock)), true],
    [() => session.logOut(), false],
    [() => session.received(incoming('35=5|34=4', clock)), false],
    [() => session.connected(), false],
    [() => session.received(incoming('35=A|34=5', clock)), false],
    [() => session.lost(), false],
  ];
  t.equal(session.isLoggedOn, false);
  for (const [act, isLoggedOn] of steps) {
    act();
    t.equal(session.isLoggedOn, isLoggedOn);
  }
});

t.test(
  'the end of a session says why, in the words of the counterparty where it has some',
  async (t) => {
    const clock = new SimulatedClock();
    const said: Record<string, string> = {
      '35=5|34=2|58=closed for today': 'closed for today',
      '35=5|34=2': 'the counterparty has logged out',
    };
    for (const [logout, text] of Object.entries(said)) {
      const session = newSession(clock);
      session.connected();
      session.received(incoming('35=A|34=1', clock));
      t.match(session.received(incoming(logout, clock)).at(-1), { kind: 'end', text });
    }
    const silent = newSession(clock);
    silent.connected();
    silent.received(incoming('35=A|34=1', clock));
    clock.advance(36_000);
    silent.tick();
    clock.advance(36_000);
    t.match(silent.tick().at(-1), {
      kind: 'end',
      text: 'the counterparty has sent nothing for 72 s',
    });
  },
);

t.test('every message says who sends it to whom, and when', async (t) => {
  const clock = new SimulatedClock();
  const session = newSession(clock, { headerFields: [[50, 'DESK']] });
  session.connected();
  session.received(incoming('35=A|34=1', clock));
  const header = {
    [tags.SenderCompID]: names.senderCompId,
    [tags.TargetCompID]: names.targetCompId,
    [tags.SendingTime]: toFixTime(clock.now()),
    [tags.SenderSubID]: 'DESK',
  };
  const sent = [
    ...session.send('D', []),
    ...session.received(incoming('35=2|34=2|7=1|16=0', clock)),
  ];
  const [order, fill] = sent.flatMap((action) => (action.kind === 'send' ? action.message : []));
  t.match(Object.fromEntries(order?.fields ?? []), header);
  const first = { [tags.OrigSendingTime]: toFixTime(clock.now()) };
  t.match(Object.fromEntries(fill?.fields ?? []), { ...header, ...first });
});
