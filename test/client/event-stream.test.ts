import { getEventListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import t, { type Test } from 'tap';
import { answerBytesMax } from '../../src/client/answer.js';
import type { StreamItem } from '../../src/client/bot-client.js';
import { eventually } from '../support/eventually.js';
import { flood, refusal, type Reply } from '../support/fake-api.js';
import {
  apiKey,
  silenceMs,
  startScriptedClient,
  timeoutMs,
  type ScriptedClient,
} from './scripted-client.js';
import {
  begin,
  broken,
  dataOf,
  ended,
  frame,
  gap,
  held,
  item,
  source,
  take,
} from './scripted-events.js';

const scripted = await startScriptedClient(t);
const { api, clock, pauses } = scripted;

t.beforeEach(() => {
  pauses.length = 0;
  scripted.onPause = (delayMs) => clock.advance(delayMs);
});

const cursors = (): unknown[] => api.seen.map(({ headers }) => headers['last-event-id']);

t.test('the request names the source and nothing else, and carries the key', async (t) => {
  api.play(held(frame('e-1')));
  const listed = { ...source, connected: true, capabilities: ['submit'], lastSeenAt: 'now' };
  await take(scripted.client().events(listed), 1);
  const [request] = api.seen;
  const url = new URL(request?.path ?? '', api.baseUrl);
  t.equal(url.pathname, '/api/v1/terminal-events/stream');
  t.strictSame(Object.fromEntries(url.searchParams), source);
  t.match(request, {
    method: 'GET',
    headers: { authorization: `Bearer ${apiKey}`, accept: 'text/event-stream' },
  });
  t.strictSame(cursors(), [undefined]);
});

t.test('events come in order, with their ids, names and data', async (t) => {
  api.play(held(`retry: 1000\n\n${frame('e-1')}:\n\n${frame('e-2', 'name_of_the_future')}`));
  const items = await take(scripted.client().events(source), 2);
  t.strictSame(items, [item('e-1'), item('e-2', 'name_of_the_future')]);
});

t.test('a gap is told, with what the gateway says of it', async (t) => {
  api.play(held(gap('f-7') + frame('f-8')));
  const items = await take(scripted.client().events(source, { lastEventId: 'e-1' }), 2);
  const told = { kind: 'replay_gap', id: 'f-7', reason: 'cursor_not_available' };
  t.strictSame(items, [told, item('f-8')]);
});

// ---- connecting again

t.test('it connects again after 1, 2, 5, then every 10 s', async (t) => {
  api.play(...Array<Reply>(6).fill({ status: 500 }), held(frame('e-1')));
  t.strictSame(await take(scripted.client().events(source), 1), [item('e-1')]);
  t.strictSame(pauses, [1_000, 2_000, 5_000, 10_000, 10_000, 10_000]);
});

t.test('jitter makes a wait longer by up to a quarter', async (t) => {
  api.play({ status: 500 }, { status: 500 }, held(frame('e-1')));
  await take(scripted.client({ random: () => 0.5 }).events(source), 1);
  t.strictSame(pauses, [1_125, 2_250]);
});

t.test('a received event makes the waits short again, a mere connection does not', async (t) => {
  api.play({ status: 500 }, ended('retry: 100\n\n:\n\n'), ended(frame('e-1')), held(frame('e-2')));
  await take(scripted.client().events(source), 2);
  t.strictSame(pauses, [1_000, 2_000, 1_000]);
});

const waits: readonly [rule: string, reply: Reply, pauseMs: number][] = [
  ['the retry of the gateway, when it is longer', ended('retry: 1000\n\nretry: 3500\n\n'), 3_500],
  ['its own wait, when that is longer', ended('retry: 999\n\n'), 1_000],
  ['the end of the connection it came on, whole or not', broken('retry: 4000\n\n'), 4_000],
  ['its own wait, when the retry is no number', ended('retry: soon\n\n'), 1_000],
  ['Retry-After', refusal(429, 'too_many_event_subscriptions', { 'Retry-After': '7' }), 7_000],
  ['its own wait after 429 without Retry-After', refusal(429, 'api_rate_limited'), 1_000],
  ['Retry-After of 503', refusal(503, 'shutting_down', { 'Retry-After': '4' }), 4_000],
];
for (const [rule, reply, pauseMs] of waits) {
  t.test(`what it waits for: ${rule}`, async (t) => {
    api.play(reply, { status: 500 }, held(frame('e-1')));
    await take(scripted.client().events(source), 1);
    t.strictSame(pauses, [pauseMs, 2_000], 'once: the next wait is its own');
  });
}

const transient: readonly [name: string, reply: Reply][] = [
  ['a connection reset', 'reset-after-body'],
  ['an answer that breaks off', 'cut'],
  ['no answer in time', 'silent'],
  ['500', refusal(500, 'internal_error')],
  ['502 of a proxy', { status: 502, body: '<h1>Bad Gateway</h1>' }],
  ['503', refusal(503, 'public_api_disabled')],
  ['505', { status: 505, headers: { Connection: 'close' }, body: '<h1>No</h1>' }],
  ['204, which is no stream', { status: 204 }],
  ['a page that is no stream', { status: 200, body: '<html>\n\nwelcome to the hotel\n\n' }],
  ['a stream that ends at once', ended()],
  ['a refusal of more bytes than any', { status: 404, body: ' '.repeat(answerBytesMax + 1) }],
];
for (const [name, reply] of transient) {
  t.test(`after ${name} it connects again`, async (t) => {
    api.play(reply, held(frame('e-1')));
    t.strictSame(await take(scripted.client().events(source), 1), [item('e-1')]);
    t.strictSame(pauses, [1_000]);
    t.equal(clock.timerCount, 0);
  });
}

t.test('without a gateway it tries again until there is one', async (t) => {
  const fetches: (() => Promise<Response>)[] = [
    () => Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })),
    () => Promise.resolve(new Response(frame('e-1'))),
  ];
  const fetch = (): Promise<Response> => (fetches.shift() as () => Promise<Response>)();
  t.strictSame(await take(scripted.client({ fetch }).events(source), 1), [item('e-1')]);
  t.strictSame(pauses, [1_000]);
});

const refusals: readonly [status: number, code: string][] = [
  [400, 'invalid_terminal_source'],
  [400, 'invalid_event_cursor'],
  [401, 'invalid_api_key'],
  [403, 'insufficient_scope'],
  [403, 'business_plan_required'],
  [404, 'terminal_source_not_found'],
  [410, 'code_of_the_future'],
];
for (const [status, code] of refusals) {
  t.test(`${status} ${code} ends the stream with StreamRefused`, async (t) => {
    api.play(ended(frame('e-1')), refusal(status, code));
    const items: StreamItem[] = [];
    const { signal } = new AbortController();
    const reading = (async () => {
      for await (const each of scripted.client().events(source, { signal })) items.push(each);
    })();
    await t.rejects(reading, {
      name: 'StreamRefused',
      message: new RegExp(`${status}, ${code}, says ${code}`),
      failure: { kind: 'refused', status, code, traceId: 'trace-1' },
    });
    t.strictSame(items, [item('e-1')]);
    t.equal(api.seen.length, 2);
    t.equal(clock.timerCount, 0);
    t.equal(getEventListeners(signal, 'abort').length, 0);
  });
}

t.test('a refusal that repeats the API key does not pass it on', async (t) => {
  api.play({ status: 401, body: { error: { code: apiKey, message: apiKey } } });
  const error: unknown = await take(scripted.client().events(source), 1).catch((e: unknown) => e);
  t.match(error, { name: 'StreamRefused' });
  t.notMatch(`${JSON.stringify(error)} ${String(error)}`, apiKey);
});

// ---- resuming

const resumptions: readonly [rule: string, given: string | undefined, Reply, then: unknown][] = [
  [
    'after the last event that was handed out',
    undefined,
    ended(frame('e-1') + frame('e-2')),
    'e-2',
  ],
  ['after the same event when none came', 'e-1', ended(), 'e-1'],
  ['after the same event when the answer was none', 'e-1', { status: 500 }, 'e-1'],
  ['without a cursor while no stream has ever stood', undefined, { status: 500 }, undefined],
  ['with a gap when a stream ended before it told its begin', undefined, ended(':\n\n'), 'none'],
  ['where the stream began when no event came', undefined, ended(begin('e-4')), 'e-4'],
  ['where it began, said by CR LF', undefined, broken('retry: 1\r\nid: e-4\r\n\r\n:'), 'e-4'],
  ['with a gap when its begin was cut', undefined, broken(begin('e-4').slice(0, -1)), 'none'],
  [
    'after the last event, not where it began',
    undefined,
    ended(begin('e-4') + frame('e-5')),
    'e-5',
  ],
  ['after its own event, when the stream began elsewhere', 'e-1', ended(begin('e-4')), 'e-1'],
  [
    'with a gap when the first block is an event of another',
    undefined,
    ended('id: x\ndata: {}\n\n'),
    'none',
  ],
  ['after the gap', 'd-1', ended(gap('e-7')), 'e-7'],
  [
    'after the last whole event',
    undefined,
    broken(frame('e-1') + frame('e-2').slice(0, -1)),
    'e-1',
  ],
  ['after the last event that was ours', 'e-1', ended('id: x\ndata: {}\n\n'), 'e-1'],
  ['after the last id that a header can carry', 'e-1', ended(frame('\u2713')), 'e-1'],
  ['after the last event that had an id', 'e-1', ended(frame('')), 'e-1'],
];
for (const [rule, lastEventId, reply, then] of resumptions) {
  t.test(`it resumes ${rule}`, async (t) => {
    api.play(reply, held(frame('end')));
    const options = lastEventId === undefined ? {} : { lastEventId };
    for await (const each of scripted.client().events(source, options)) {
      if (each.id === 'end') break;
    }
    t.strictSame(cursors(), [lastEventId, then]);
  });
}

t.test('a cursor that is none is thrown back at once', (t) => {
  for (const lastEventId of ['', ' ', 'a\nb', 'clé']) {
    t.throws(() => scripted.client().events(source, { lastEventId }), TypeError);
  }
  t.end();
});

// ---- silence

t.test('45 s of silence are an end; a comment is a sign of life', async (t) => {
  let stream: ServerResponse | undefined;
  api.play({ ...held(), stream: (out) => (stream = out) }, held(frame('e-2')));
  scripted.reads = 0;
  const events = scripted.client().events(source);
  const first = events.next();
  await eventually(() => scripted.reads === 1);
  stream?.write(frame('e-1'));
  t.strictSame(await first, { done: false, value: item('e-1') });
  const second = events.next();
  await eventually(() => scripted.reads === 2);
  clock.advance(silenceMs - 1);
  stream?.write(':\n\n');
  await eventually(() => scripted.reads === 3);
  clock.advance(silenceMs - 1);
  t.equal(api.seen.length, 1);
  t.strictSame(pauses, []);
  clock.advance(1);
  t.strictSame(await second, { done: false, value: item('e-2') });
  t.strictSame(pauses, [1_000]);
  t.strictSame(cursors(), [undefined, 'e-1']);
  await eventually(() => stream?.destroyed);
  await events.return();
});

t.test('what came while the bot was suspended is no silence', async (t) => {
  let stream: ServerResponse | undefined;
  api.play({ ...held(), stream: (out) => (stream = out) });
  scripted.reads = 0;
  const events = scripted.client().events(source);
  const first = events.next();
  await eventually(() => scripted.reads === 1);
  clock.elapse(2 * silenceMs);
  clock.advance(0);
  stream?.write(frame('e-1'));
  t.strictSame(await first, { done: false, value: item('e-1') });
  t.equal(api.seen.length, 1);
  await events.return();
});

t.test('while the consumer works, silence is none', async (t) => {
  api.play(held(frame('e-1')));
  const events = scripted.client().events(source);
  await events.next();
  t.equal(clock.timerCount, 0);
  await events.return();
});

// ---- ending

/** Checks that nothing is left of a stream that has ended. */
async function noTrace(t: Test, { clock, api }: ScriptedClient, signal: AbortSignal) {
  t.equal(clock.timerCount, 0, 'no timer');
  t.equal(getEventListeners(signal, 'abort').length, 0, 'no listener');
  await eventually(() => api.openAnswers === 0);
}

const end = { done: true, value: undefined };
const failed = refusal(500, 'internal_error');

const moments: readonly [
  moment: string,
  script: Reply[],
  at: (scripted: ScriptedClient, abort: () => void) => void,
][] = [
  ['while it connects', ['silent'], ({ api }, abort) => (api.onSilence = abort)],
  [
    'while it reads',
    [held()],
    (scripted, abort) => void eventually(() => scripted.reads === 1).then(abort),
  ],
  ['while it waits', [failed], (scripted, abort) => (scripted.onPause = abort)],
  [
    'while it waits after a stream',
    [ended('retry: 60000\n\n')],
    (scripted, abort) => (scripted.onPause = abort),
  ],
];
for (const [moment, script, at] of moments) {
  t.test(`aborted ${moment}, it ends without an error and without a trace`, async (t) => {
    const own = await startScriptedClient(t);
    own.api.play(...script);
    const abort = new AbortController();
    at(own, () => abort.abort());
    const events = own.client().events(source, { signal: abort.signal });
    t.strictSame(await events.next(), end);
    t.strictSame(await events.next(), end);
    t.equal(own.api.seen.length, 1);
    await noTrace(t, own, abort.signal);
  });
}

t.test('aborted while the consumer works, it hands out nothing more', async (t) => {
  const own = await startScriptedClient(t);
  own.api.play(held(frame('e-1') + frame('e-2')));
  const abort = new AbortController();
  const events = own.client().events(source, { signal: abort.signal });
  t.match(await events.next(), { value: item('e-1') });
  abort.abort();
  await eventually(() => own.api.openAnswers === 0);
  t.strictSame(await events.next(), end);
  await noTrace(t, own, abort.signal);
});

t.test('an abort that crosses a refusal is an abort', async (t) => {
  const abort = new AbortController();
  const fetch = async (): Promise<Response> => {
    abort.abort();
    return new Response('', { status: 401 });
  };
  const events = scripted.client({ fetch }).events(source, { signal: abort.signal });
  t.strictSame(await events.next(), end);
});

t.test('aborted beforehand, nothing is sent', async (t) => {
  api.play(held(frame('e-1')));
  const events = scripted.client().events(source, { signal: AbortSignal.abort() });
  t.strictSame(await events.next(), end);
  t.equal(api.seen.length, 0);
});

t.test('leaving the loop closes the connection', async (t) => {
  const own = await startScriptedClient(t);
  own.api.play(held(frame('e-1')));
  const { signal } = new AbortController();
  t.equal((await take(own.client().events(source, { signal }), 1)).length, 1);
  await noTrace(t, own, signal);
});

t.test('an error of the consumer closes the connection', async (t) => {
  const own = await startScriptedClient(t);
  own.api.play(held(frame('e-1')));
  const { signal } = new AbortController();
  const reading = (async () => {
    for await (const { id } of own.client().events(source, { signal })) throw new Error(id);
  })();
  await t.rejects(reading, { message: 'e-1' });
  await noTrace(t, own, signal);
});

// ---- what comes over the wire

/** @returns a fetch whose answer is a stream in exactly these pieces. */
function inPieces(pieces: readonly Uint8Array[]): typeof globalThis.fetch {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
    },
  });
  return () => Promise.resolve(new Response(body));
}

const words = 'é ✓ 😀 \u2028';
const long = JSON.stringify(dataOf('e-1', words), undefined, 1).split('\n');
const lines = ['retry: 1000', '', ...eventLines('e-1', long), '', ...eventLines('e-2'), '', ''];

function eventLines(id: string, data = [JSON.stringify(dataOf(id, words))]): string[] {
  return [`id: ${id}`, 'event: order_update', ...data.map((line) => `data: ${line}`)];
}

for (const [name, ending] of [
  ['LF', '\n'],
  ['CR LF', '\r\n'],
] as const) {
  t.test(`events of several lines and ${name} are the same in any pieces`, async (t) => {
    const bytes = Buffer.from(lines.join(ending));
    const whole = ['e-1', 'e-2'].map((id) => ({
      kind: 'event',
      id,
      name: 'order_update',
      data: dataOf(id, words),
    }));
    for (const length of [1, 2, 3, 7, 64, bytes.length]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
        bytes.subarray(index * length, (index + 1) * length),
      );
      const events = scripted.client({ fetch: inPieces(pieces) }).events(source);
      t.strictSame(await take(events, 2), whole, `${length} bytes each`);
    }
  });
}

const garbage: readonly string[] = [
  'data\n\n',
  'data: \n\n',
  'data: not json\n\n',
  'data: null\n\n',
  'data: 7\n\n',
  'data: {"eventId":7}\n\n',
  'event: order_update\n\n',
  'event: replay_gap\ndata: {\n\n',
  '<html><body>Sign in</body></html>\n\n',
  'field: of the future\n\n',
  '\0\n\n',
  '\n\n\n\n',
];
t.test('what is no event of ours is skipped, and what follows is not', async (t) => {
  const text = garbage.map((each, index) => each + frame(`e-${index}`)).join('');
  api.play(held(text));
  const items = await take(scripted.client().events(source), garbage.length);
  t.strictSame(
    items,
    garbage.map((_, index) => item(`e-${index}`)),
  );
});

t.test('bytes that are no UTF-8 harm nothing but themselves', async (t) => {
  const pieces = [Buffer.from('data: "'), Buffer.from([0xff, 0xc3]), Buffer.from('"\n\n')];
  const fetch = inPieces([...pieces, Buffer.from(frame('e-1'))]);
  t.strictSame(await take(scripted.client({ fetch }).events(source), 1), [item('e-1')]);
});

t.test('an event without end is cut off, not collected', async (t) => {
  let written = (): number => 0;
  const stream = (out: ServerResponse): void => {
    out.write(`${frame('e-1')}data: `);
    written = flood(out, 'x'.repeat(64 * 1024));
  };
  api.play({ ...held(), stream }, held(frame('e-2')));
  t.strictSame(await take(scripted.client().events(source), 2), [item('e-1'), item('e-2')]);
  t.strictSame(cursors(), [undefined, 'e-1']);
  t.ok(written() < 64 * 2 ** 20, `${written()} bytes went out`);
});

t.test('a consumer that is slow holds up the sender, and misses nothing', async (t) => {
  const count = 1_000;
  const padding = `: ${'x'.repeat(64 * 1024)}\n`;
  let written = 0;
  const write = (out: ServerResponse): void => {
    while (written < count) if (!out.write(padding + frame(`e-${++written}`))) break;
    if (written < count) out.once('drain', () => write(out));
  };
  api.play({ ...held(), stream: write });
  const events = scripted.client().events(source);
  t.match(await events.next(), { value: item('e-1') });
  await standsStill(() => written);
  t.ok(written < count / 2, `${written} of ${count} went out`);
  for (let index = 2; index <= count; index++) {
    const { value } = await events.next();
    if (value?.id !== `e-${index}`) t.fail(`${index}: ${value?.id}`);
  }
  t.equal(api.seen.length, 1, 'on one connection');
  await events.return();
});

/** Waits until a count has not grown for a while. */
async function standsStill(count: () => number): Promise<void> {
  let last = -1;
  let since = 0;
  await eventually(() => {
    since = count() === last ? since + 1 : 0;
    last = count();
    return since >= 30;
  });
}

t.test('a connection attempt ends when the gateway says nothing', async (t) => {
  const own = await startScriptedClient(t);
  own.api.play('silent', held(frame('e-1')));
  const begin = own.clock.monotonic();
  await take(own.client().events(source), 1);
  t.equal(own.clock.monotonic() - begin, timeoutMs + 1_000);
  await eventually(() => own.api.openAnswers === 0);
});
