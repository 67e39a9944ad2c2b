/**
 * ops/haproxy: the limit on what the plugins of an address send, in a real HAProxy. The configuration sets
 * it from 2.8 on. Where an older one is installed, put a later one first in PATH:
 * `PATH=/opt/haproxy-3.0:$PATH npx tap build/test/ops/haproxy-plugin-bytes.test.js`.
 */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import t from 'tap';
import { limits } from '../../src/limits.js';
import { bearer, json, signal } from '../support/api.js';
import { ann, carol, openEdge } from '../support/edge.js';
import { acknowledged, event, report, tell } from '../support/frames.js';
import { haproxyBefore, haproxyFolder } from '../support/haproxy.js';
import type { Plugin } from '../support/plugin.js';
import { tlsCall, tlsMember, tlsPlugin } from '../support/tls-client.js';

const skip = haproxyBefore(2, 8);

const bytesPerSecond = 256 * 1_024;
const connections = 4;
/** Seconds that all connections together send at the limit. */
const secondsAtLimit = 4;
/** An empty fragment from the middle of a message, masked with 0. */
const emptyFragment = Buffer.from([0x00, 0x80, 0, 0, 0, 0]);

t.test('the limit is well above what a gateway grants a user', (t) => {
  const text = readFileSync(`${haproxyFolder}signalbox.cfg`, 'utf8');
  const mebibytes = Number(/^ *presetenv EDGE_PLUGIN_BYTES (\d+)m$/m.exec(text)?.[1]);
  t.ok(mebibytes * 1_024 * 1_024 >= 2 * limits.pluginBytesPerSecond.value, `${mebibytes} MiB`);
  t.end();
});

/** Sends an event with `bytes` of empty fragments in it. Resolves when the gateway acknowledges the event. */
async function sendInFragments(plugin: Plugin, bytes: number): Promise<void> {
  const text = JSON.stringify(event(1));
  plugin.socket.send(text.slice(0, 1), { fin: false });
  const { _socket: socket } = plugin.socket as unknown as { _socket: Socket };
  socket.write(Buffer.alloc(bytes - (bytes % emptyFragment.length), emptyFragment));
  plugin.socket.send(text.slice(1), { fin: true });
  await acknowledged(plugin, 1);
}

t.test(
  'an address’ plugins send empty fragments no faster than the limit, and nobody else waits',
  { skip },
  async (t) => {
    const edge = await openEdge(t, '127.0.0.1', { EDGE_PLUGIN_BYTES: `${bytesPerSecond}` });
    const attacker = await tlsMember(edge.at(ann, '127.0.0.11'), 'ann@example.com');
    const server = edge.at(carol, '127.0.0.12');
    const victim = await tlsMember(server, 'carol@example.com');
    const terminal = await tlsPlugin(server, victim.sessionToken);
    const plugins = [];
    for (let index = 0; index < connections; index++) {
      const fields = { instanceId: `desk-${index}` };
      plugins.push(await tlsPlugin(edge.at(ann), attacker.sessionToken, fields));
    }
    let isFlooding = true;
    const begunAt = performance.now();
    const each = (bytesPerSecond * secondsAtLimit) / connections;
    const flood = Promise.all(plugins.map((plugin) => sendInFragments(plugin, each)));
    const flooded = flood
      .then(() => (performance.now() - begunAt) / 1_000)
      .finally(() => (isFlooding = false));
    let orders = 0;
    while (isFlooding) {
      const { status, text, body } = await tlsCall(server, 'POST', '/api/v1/signals', {
        headers: { ...json, ...bearer(victim.key), 'idempotency-key': `order-${++orders}` },
        body: JSON.stringify(signal()),
      });
      t.equal(status, 202, text);
      const { executionId } = await terminal.next('submit', { requestId: body.requestId });
      await tell(terminal, report(orders, executionId, 'filled'));
    }
    const seconds = await flooded;
    t.ok(
      seconds > secondsAtLimit / 2,
      `${seconds} s for what the limit lets through in ${secondsAtLimit}`,
    );
    t.ok(orders > 1, `${orders} orders of another user meanwhile`);
    for (const plugin of [terminal, ...plugins]) {
      t.ok(plugin.isOpen, 'what is slow is not cut off');
      plugin.cut();
    }
  },
);
