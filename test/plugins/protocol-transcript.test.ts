/** The transcript of the protocol's documentation, replayed word for word against a real gateway. */
import t from 'tap';
import { call, signal, submit } from '../support/api.js';
import { startTestGateway } from '../support/gateway.js';
import { connectPlugin, type Frame, type Plugin } from '../support/plugin.js';
import { protocolDocument } from '../support/protocol-document.js';

const lines = protocolDocument.section('A whole session').transcript;

/** Identifier or time in the document → in this run. */
const actual = new Map<string, string>();

/** @returns the document's text with its identifiers replaced by those of this run. */
function inThisRun(text: string): string {
  let replaced = text;
  for (const [documented, value] of actual) replaced = replaced.replaceAll(documented, value);
  return replaced;
}

/** Fields that differ from run to run: `learnt` ones keep their first value, of `forms` only the form counts. */
const learnt = ['executionId', 'requestId', 'orderRef', 'cancelRequestId'];
const forms: Readonly<Record<string, (value: unknown) => boolean>> = {
  connectionId: (value) => /^con_[0-9a-f]{16}$/.test(String(value)),
  serverTime: (value) => Math.abs(Date.parse(String(value)) - Date.now()) < 60_000,
  expiresAt: (value) => new Date(String(value)).toISOString() === value,
  ts: (value) => Number.isSafeInteger(value),
};

function learn(documented: Frame, frame: Frame): Frame {
  for (const name of learnt) {
    if (documented[name] !== undefined) actual.set(documented[name], frame[name]);
  }
  const known = JSON.parse(inThisRun(JSON.stringify(documented))) as Record<string, unknown>;
  for (const [name, hasForm] of Object.entries(forms)) {
    if (name in known && hasForm(frame[name])) known[name] = frame[name];
  }
  return known as unknown as Frame;
}

t.test('the transcript is what happens', async (t) => {
  const gateway = await startTestGateway(t, { users: 1 });
  const user = await gateway.user();
  const requests: string[] = [];
  let plugin: Plugin | undefined;
  let exit: Promise<number | null> | undefined;

  const connected = (): Plugin => {
    if (plugin === undefined) throw new Error('the transcript speaks before it connects');
    return plugin;
  };
  const actions: Readonly<Record<string, (text: string) => Promise<void>>> = {
    async connect() {
      plugin = await connectPlugin(gateway.url, user.sessionToken);
    },
    async signal(text) {
      const answer = await submit(gateway.url, user.key, signal(JSON.parse(text) as object));
      t.equal(answer.status, 202);
      requests.push(answer.body.requestId);
    },
    async cancel(text) {
      const answer = await gateway.cancel(user, inThisRun(text));
      t.equal(answer.status, 202);
    },
    async cut() {
      t.same(connected().frames, [], 'nothing came that the transcript does not show');
      connected().cut();
    },
    async shutdown() {
      exit = gateway.process.stop();
    },
  };

  for (const line of lines) {
    const [, mark, word = '', rest = ''] = /^([$<>]) (\S+) ?(.*)$/.exec(line) ?? [];
    if (mark === '$') await actions[word]?.(rest);
    else if (mark === '>') connected().send(inThisRun(line.slice(2)));
    else if (word === 'close') {
      const [code, reason] = rest.split(' ');
      t.same(await connected().waitClosed(), { code: Number(code), reason });
    } else {
      const documented = JSON.parse(line.slice(2)) as Frame;
      const frame = await connected().next(documented.type);
      t.same(frame, learn(documented, frame), line.slice(0, 60));
      t.same(Object.keys(frame), Object.keys(documented), 'field by field, in this order');
    }
  }
  t.same(connected().frames, []);
  t.equal(await exit, 0);

  await gateway.restart('SIGTERM');
  const ends = [];
  for (const requestId of requests) {
    const { status, filledQuantity, cancel } = await gateway.execution(user, requestId);
    ends.push([status, filledQuantity, cancel?.status]);
  }
  t.same(ends, [
    ['cancelled', 1, 'cancelled'],
    ['filled', 1, undefined],
    ['completed', null, undefined],
  ]);
  const health = await call(gateway.process.opsUrl, 'GET', '/readyz');
  t.equal(health.status, 200);
});

t.test('the transcript shows every frame of both sides', async (t) => {
  const typesOf = (mark: string): string[] => [
    ...new Set(
      lines
        .filter((line) => line.startsWith(`${mark} {`))
        .map((line) => (JSON.parse(line.slice(2)) as Frame).type),
    ),
  ];
  const { frames } = protocolDocument;
  t.same(typesOf('>').sort(), frames('From the plugin').sort());
  const asked = frames('From the gateway').filter((type) => type !== 'snapshot');
  t.same(typesOf('<').sort(), asked.sort());
});
