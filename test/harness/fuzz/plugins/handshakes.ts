/**
 * One handshake with none, one or several of its lines mutated: it is answered as PROTOCOL.md says, and
 * only a valid one with a session token is upgraded.
 */
import { RawClient } from '../../../support/raw-client.js';
import type { Chance } from '../../chance.js';
import type { TestBed } from '../test-bed.js';
import { withDeadline } from '../deadline.js';
import { handshake, handshakeLines } from './raw-websocket.js';

/** From the request line to the empty line; the native server refuses more. */
const headBytesMax = 4_096;

interface Mutation {
  readonly line: string;
  /** Replaces the line; empty removes it. */
  readonly instead: readonly string[];
  /** Allowed statuses if it is the only mutation; 0: closed without an answer. */
  readonly answers: readonly number[];
}

const otherTokens = (bed: TestBed): string[] => {
  const { sessionToken, token, key } = bed.attacker;
  return [
    key,
    token,
    '',
    sessionToken.slice(0, -1),
    `${sessionToken}x`,
    sessionToken.toUpperCase(),
    `${sessionToken} ${sessionToken}`,
    ' ',
    'sbs_',
    'null',
    'x'.repeat(2000),
    '\u00ff\u00fe',
  ];
};

function mutations(bed: TestBed): Mutation[] {
  const { sessionToken } = bed.attacker;
  const lines = (name: string, values: readonly string[], answers: readonly number[]): Mutation[] =>
    values.map((value) => ({ line: name, instead: [`${name}: ${value}`], answers }));
  return [
    ...lines('Upgrade', ['h2c', 'websockets', ''], [426]),
    { line: 'Upgrade', instead: [], answers: [426] },
    ...lines('Sec-WebSocket-Version', ['12', '8', '', '013', '13, 8'], [400]),
    { line: 'Sec-WebSocket-Version', instead: [], answers: [400] },
    // Without a key of 24 characters the native server does not see an upgrade.
    ...lines('Sec-WebSocket-Key', ['', 'short', 'x'.repeat(25), 'x'.repeat(2000)], [426]),
    { line: 'Sec-WebSocket-Key', instead: [], answers: [426] },
    ...lines(
      'Sec-WebSocket-Protocol',
      ['', 'signalbox.plugin.v2', 'SIGNALBOX.PLUGIN.V1', 'signalbox.plugin.v1x'],
      [400],
    ),
    { line: 'Sec-WebSocket-Protocol', instead: [], answers: [400] },
    ...lines(
      'Sec-WebSocket-Protocol',
      ['chat, signalbox.plugin.v1', 'signalbox.plugin.v1,,'],
      [101],
    ),
    ...lines(
      'Authorization',
      otherTokens(bed).map((token) => `Bearer ${token}`),
      [401],
    ),
    ...lines(
      'Authorization',
      [`Basic ${sessionToken}`, sessionToken, `Bearer${sessionToken}`],
      [401],
    ),
    { line: 'Authorization', instead: [], answers: [401] },
    {
      line: 'Authorization',
      instead: [`Authorization: Bearer ${sessionToken}`, 'Authorization: Bearer x'],
      answers: [401, 400],
    },
    ...lines('Connection', ['close', 'keep-alive, Upgrade'], [101, 426, 400]),
    { line: 'Host', instead: [], answers: [400, 0] },
  ];
}

const requestLines: readonly (readonly [string, readonly number[]])[] = [
  ['POST /plugin/v1 HTTP/1.1', [426]],
  ['GET /plugin/v1/ HTTP/1.1', [404]],
  ['GET /plugin/v2 HTTP/1.1', [404]],
  ['GET /plugin/v1?x=1 HTTP/1.1', [101]],
  ['GET /api/auth/login HTTP/1.1', [405]],
  ['GET /plugin/v1 HTTP/1.0', [505, 0]],
];

export async function tryHandshake(bed: TestBed, chance: Chance): Promise<number> {
  const { verdict } = bed.run;
  const control = handshakeLines(bed.attacker.sessionToken);
  const client = await RawClient.connect(bed.url);
  let due: readonly number[] = [101];
  let bytes: string;
  if (chance.happens(0.15)) {
    const [line, answers] = chance.pick(requestLines);
    due = answers;
    bytes = handshake(
      Object.entries(control).map((each) => each.join(': ')),
      line,
    );
  } else {
    const mutated = Array.from({ length: chance.pick([0, 1, 1, 1, 2, 3]) }, () =>
      chance.pick(mutations(bed)),
    );
    const lines = Object.entries(control).flatMap(
      ([name, value]) =>
        mutated.find(({ line }) => line === name)?.instead ?? [`${name}: ${value}`],
    );
    // If two mutations change the same line, only the first counts.
    const effective = mutated.filter(
      (each) => mutated.find(({ line }) => line === each.line) === each,
    );
    const refusing = effective.filter(({ answers }) => !answers.includes(101));
    const tolerated = effective.flatMap(({ answers }) => answers);
    due = refusing.length > 0 ? refusing.flatMap(({ answers }) => answers) : [101, ...tolerated];
    if (refusing.length > 1) due = [...due, 400, 401, 404, 405, 426];
    bytes = handshake(lines);
  }
  if (bytes.length > headBytesMax) due = [431];
  if (chance.happens(0.1)) {
    await client.send(bytes.slice(0, chance.between(0, bytes.length - 3)));
    client.cut();
    return 1;
  }
  const [method = '', path = ''] = bytes.split(' ');
  const request = { method, path };
  await client.send(bytes);
  const answer = await withDeadline(client.answer({ request }), () => `no answer to ${bytes}`);
  const status = answer?.status ?? 0;
  verdict.hold('a handshake is answered as the protocol says', due.includes(status), () => [
    due,
    answer,
    bytes,
  ]);
  bed.isolation.search(bed.attacker.email, answer?.head ?? '');
  client.cut();
  return 1;
}
