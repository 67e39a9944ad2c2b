/** Clients that others wrote: an SSE client from the registry, and curl. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { EventSource } from 'eventsource';
import t from 'tap';
import { acknowledged, event } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';
import { eventually } from '../support/eventually.js';
import { openCuttingProxy } from '../support/cutting-proxy.js';
import { sourceQuery } from '../support/event-reader.js';

const gateway = await startTestGateway(t);
const path = `/api/v1/terminal-events/stream?${sourceQuery()}`;

t.test('eventsource streams, and resumes by itself without loss after cuts', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const proxy = await openCuttingProxy(t, gateway.url);
  const cursors: (string | undefined)[] = [];
  const source = new EventSource(proxy.url + path, {
    fetch: (input, init) => {
      const headers = { ...init.headers, authorization: `Bearer ${user.key}` };
      cursors.push((headers as Record<string, string>)['Last-Event-ID']);
      return fetch(input, { ...init, headers });
    },
  });
  t.teardown(() => source.close());
  const numbers: number[] = [];
  const ids: string[] = [];
  source.addEventListener('terminal_message', ({ data, lastEventId }) => {
    numbers.push(JSON.parse(data).data.number);
    ids.push(lastEventId);
  });
  let gaps = 0;
  source.addEventListener('replay_gap', () => gaps++);
  await new Promise((resolve) => source.addEventListener('open', resolve, { once: true }));

  let seq = 0;
  const rounds = 3;
  for (let round = 1; round <= rounds; round++) {
    for (let sent = 0; sent < 40; sent++) {
      plugin.send(event(++seq, { data: { number: seq } }));
      if (sent !== 20) continue;
      // Before its first event a client has no cursor to resume from.
      await eventually(() => numbers.length > 0);
      proxy.cut();
    }
    await acknowledged(plugin, seq);
    await eventually(() => numbers.at(-1) === seq);
  }
  t.same(
    numbers,
    Array.from({ length: seq }, (_, index) => index + 1),
  );
  t.equal(gaps, 0);
  t.equal(cursors.length, 1 + rounds);
  t.ok(cursors.slice(1).every((cursor) => cursor !== undefined && ids.includes(cursor)));
  plugin.close();
});

t.test('eventsource gives up when its key is revoked', async (t) => {
  const user = await gateway.user();
  const plugin = await gateway.plugin(user);
  const source = new EventSource(gateway.url + path, {
    fetch: (input, init) =>
      fetch(input, {
        ...init,
        headers: { ...init.headers, authorization: `Bearer ${user.key}` },
      }),
  });
  await new Promise((resolve) => source.addEventListener('open', resolve, { once: true }));
  const refused = new Promise<number | undefined>((resolve) => {
    source.addEventListener('error', ({ code }) => {
      if (code !== undefined) resolve(code);
    });
  });
  await fetch(`${gateway.url}/api/api-keys/${user.keyId}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${user.token}` },
  });
  t.equal(await refused, 401);
  t.equal(source.readyState, source.CLOSED);
  plugin.close();
});

const hasCurl = spawnSync('curl', ['--version']).status === 0;

t.test(
  'curl -N shows each event as it comes',
  hasCurl ? {} : { skip: 'SKIPPED: curl is not installed, so the stream was not tried with it' },
  async (t) => {
    const user = await gateway.user();
    const plugin = await gateway.plugin(user);
    const curl = spawn('curl', [
      '-sSN',
      '-i',
      '-H',
      `Authorization: Bearer ${user.key}`,
      gateway.url + path,
    ]);
    const ended = once(curl, 'exit');
    let text = '';
    curl.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await eventually(() => text.includes('retry: 1000\nid: '));
    for (let seq = 1; seq <= 3; seq++) {
      plugin.send(event(seq, { data: { text: `word ${seq}` } }));
      await eventually(() => text.includes(`"text":"word ${seq}"`));
    }
    t.match(text, /^HTTP\/1\.1 200 OK\r\n/);
    t.match(
      text,
      /\r\n\r\nretry: 1000\nid: [0-9a-f]+-\d+\n\nid: [0-9a-f]+-\d+\nevent: terminal_message\ndata: \{.*\}\n\nid: /,
    );
    await fetch(`${gateway.url}/api/api-keys/${user.keyId}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${user.token}` },
    });
    t.same(await ended, [0, null], 'the end is a proper one');
    plugin.close();
  },
);
