/** Whatever happens to the connections, the client gets every event once and in order, or a gap. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { startScriptedClient } from './scripted-client.js';
import { begin, dataOf, gap, source } from './scripted-events.js';

const scripted = await startScriptedClient(t);

/** One attempt to connect, and what happens before it. */
interface Life {
  /** Events while the client is not connected. */
  readonly missed: number;
  /** The gateway restarts with a new epoch: no earlier event can be replayed. */
  readonly restarts: boolean;
  readonly outcome: 'stream' | 'refused' | 'unreachable';
  /** Events while the stream stands. */
  readonly live: number;
  /** Share of the stream's text that arrives before its end, 0 to 1. */
  readonly share: number;
  readonly end: 'proper' | 'broken';
  /** Bytes of each piece of the stream; repeated until its end. */
  readonly pieces: readonly number[];
  readonly newline: '\n' | '\r\n';
}

const lives = fc.array(
  fc.record<Life>({
    missed: fc.nat(3),
    restarts: fc.boolean(),
    outcome: fc.constantFrom('stream', 'stream', 'stream', 'refused', 'unreachable'),
    live: fc.nat(4),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    end: fc.constantFrom('proper', 'broken'),
    pieces: fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 }),
    newline: fc.constantFrom('\n', '\r\n'),
  }),
  { maxLength: 8 },
);

const last: Life = {
  missed: 1,
  restarts: false,
  outcome: 'stream',
  live: 1,
  share: 1,
  end: 'proper',
  pieces: [50],
  newline: '\n',
};

/** What may stand between events. */
const noise = ['', ':\n\n', 'data: none of ours\n\n', 'id: x\ndata: {}\n\n'];

/** @returns the event of this number. */
function saying(id: string, seq: number) {
  return { ...dataOf(id, 'é✓😀'), data: { seq } };
}

/** A gateway that plays the lives; its events are numbered from 1, across all lives. */
function createGateway(script: readonly Life[]) {
  const rest = [...script, last];
  let epoch = 0;
  const gateway = {
    published: 0,
    /** The number after which the first stream began. */
    begin: undefined as number | undefined,
    /** The cursor of every attempt, and the one that it should have had. */
    cursors: [] as [sent: string | null, due: string | null][],
    /** Id of the item that the client handed out last. */
    handedOut: undefined as string | undefined,
    /** Id at which the only stream without a cursor began; the client may not have received it. */
    beganAt: null as string | null,
    isLast: () => rest.length === 0,
    async fetch(_: unknown, init?: RequestInit): Promise<Response> {
      const life = rest.shift() ?? last;
      const cursor = new Headers(init?.headers).get('Last-Event-ID');
      const unheard = gateway.begin === undefined ? null : 'none';
      const unread = cursor === gateway.beganAt ? cursor : unheard;
      gateway.cursors.push([cursor, gateway.handedOut ?? unread]);
      gateway.published += life.missed;
      if (life.restarts) epoch++;
      if (life.outcome === 'unreachable') throw new TypeError('fetch failed');
      if (life.outcome === 'refused') return new Response('', { status: 503 });
      gateway.begin ??= gateway.published;
      const text = wordsFor(cursor) + publish(life.live);
      return new Response(inPieces(life, text.replaceAll('\n', life.newline), gateway.isLast()));
    },
  };

  function wordsFor(cursor: string | null): string {
    if (cursor === null) return begin((gateway.beganAt = `${epoch}-${gateway.published}`));
    const [, inEpoch, seq] = /^(\d+)-(\d+)$/.exec(cursor) ?? [];
    if (inEpoch !== `${epoch}`) return `retry: 1000\n\n` + gap(`${epoch}-${gateway.published}`);
    return begin(cursor) + frames(Number(seq), gateway.published);
  }

  function publish(count: number): string {
    gateway.published += count;
    return frames(gateway.published - count, gateway.published);
  }

  function frames(after: number, until: number): string {
    let text = '';
    for (let seq = after + 1; seq <= until; seq++) {
      const id = `${epoch}-${seq}`;
      const data = JSON.stringify(saying(id, seq), undefined, 1);
      text += `id: ${id}\nevent: order_update\n${data.replaceAll(/^/gm, 'data: ')}\n\n`;
      text += noise[seq % noise.length] as string;
    }
    return text;
  }
  return gateway;
}

function inPieces(life: Life, text: string, staysOpen: boolean): ReadableStream<Uint8Array> {
  const words = Buffer.from(text);
  const bytes = words.subarray(0, Math.floor(words.length * life.share));
  let at = 0;
  let turn = 0;
  return new ReadableStream({
    pull(controller) {
      if (at < bytes.length) {
        const length = life.pieces[turn++ % life.pieces.length] as number;
        controller.enqueue(bytes.subarray(at, (at += length)));
      } else if (staysOpen) return new Promise(() => undefined);
      else if (life.end === 'proper') controller.close();
      else controller.error(new TypeError('terminated'));
      return undefined;
    },
  });
}

t.test('any schedule of disconnects, in any pieces', async () => {
  await fc.assert(
    fc.asyncProperty(lives, async (script) => {
      const gateway = createGateway(script);
      const client = scripted.client({ fetch: (input, init) => gateway.fetch(input, init) });
      let heard: number | undefined;
      let mayHaveLost = false;
      for await (const item of client.events(source)) {
        gateway.handedOut = item.id;
        heard ??= gateway.begin as number;
        if (item.kind === 'replay_gap') {
          mayHaveLost = true;
          continue;
        }
        const seq = item.data.data['seq'] as number;
        assert.deepEqual(item.data, saying(item.id, seq));
        if (mayHaveLost) assert(seq > heard, `${seq} after ${heard} and a gap`);
        else assert.equal(seq, heard + 1);
        mayHaveLost = false;
        heard = seq;
        if (gateway.isLast() && seq === gateway.published) break;
      }
      assert.equal(heard, gateway.published);
      assert.equal(gateway.cursors.length, script.length + 1);
      for (const [sent, due] of gateway.cursors) assert.equal(sent, due);
      assert.equal(scripted.clock.timerCount, 0);
    }),
    { numRuns: 300 },
  );
});
