/** A user moves from one node to another as ops/scaling.md says, while bots and terminals go on. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { type Answer, bearer, call, json, signal, verdict } from '../support/api.js';
import { report, tell } from '../support/frames.js';
import { ann, bob, carol, type Edge, openEdge } from '../support/edge.js';
import { signalboxIn } from '../support/in-process.js';
import { missing } from '../support/installed.js';
import { tlsCall, tlsMember, tlsPlugin, tlsReader } from '../support/tls-client.js';

const skip = missing('haproxy', ['-v']);

const page = readFileSync(new URL('../../../ops/scaling.md', import.meta.url), 'utf8');

/** Throws unless the page tells an operator to run this command. */
function asWritten(command: string): void {
  if (!page.includes(`${command}\n`) && !page.includes(`"${command}"`)) {
    throw new Error(`ops/scaling.md does not say: ${command}`);
  }
}

async function operate(dataDir: string, ...args: string[]): Promise<void> {
  const shown = args.map((arg) => arg.replace(/^.+\/(?=ann\.jsonl$)/, '/tmp/'));
  asWritten(`signalbox ${shown.join(' ')}`);
  const { code, stderr } = await signalboxIn(dataDir, args);
  if (code !== 0) throw new Error(`signalbox ${args.join(' ')}: ${stderr}`);
}

function submitter(edge: Edge, host: string, key: string) {
  return (body: string, idempotencyKey: string): Promise<Answer> =>
    tlsCall(edge.at(host), 'POST', '/api/v1/signals', {
      headers: { ...json, ...bearer(key), 'idempotency-key': idempotencyKey },
      body,
    });
}

t.test(
  'a moved user keeps host name, key, session, orders and idempotency; nobody else notices',
  { skip },
  async (t) => {
    const edge = await openEdge(t);
    const { haproxy, first, second, files } = edge;
    const user = await tlsMember(edge.at(ann, '127.0.0.11'), 'ann@example.com');
    const others = [
      submitter(edge, bob, (await tlsMember(edge.at(bob, '127.0.0.12'), 'bob@example.com')).key),
      submitter(
        edge,
        carol,
        (await tlsMember(edge.at(carol, '127.0.0.13'), 'carol@example.com')).key,
      ),
    ];
    const submit = submitter(edge, ann, user.key);
    const read = (requestId: string): Promise<Answer> =>
      tlsCall(edge.at(ann), 'GET', `/api/v1/signals/${requestId}`, { headers: bearer(user.key) });

    const plugin = await tlsPlugin(edge.at(ann), user.sessionToken);
    const stream = await tlsReader(edge.at(ann), user.key);
    const body = JSON.stringify(signal({ ttlMs: 300_000 }));
    const accepted = await submit(body, 'before');
    t.equal(accepted.status, 202, accepted.text);
    const { requestId } = accepted.body;
    const order = await plugin.next('submit', { requestId });
    await tell(plugin, report(1, order['executionId'], 'working'));

    const setMap = (node: string): Promise<string> => {
      asWritten(`set map /etc/haproxy/nodes.map ${ann} ${node}`);
      return haproxy.admin(`set map ${files.map.replaceAll(' ', '\\ ')} ${ann} ${node}`);
    };
    t.equal(await setMap('moving'), '');
    const during = await submit(JSON.stringify(signal({ ttlMs: 300_000 })), 'during');
    t.equal(verdict(during), '503 account_moving');
    t.equal(during.headers.get('retry-after'), '1');

    const file = `${first.dataDir}/../ann.jsonl`;
    await operate(first.dataDir, 'user', 'export', 'ann@example.com', file, '--freeze');
    const { code } = await plugin.waitClosed();
    t.ok(code >= 4000 && code < 4500, `told to come back: ${code}`);
    await t.rejects(tlsPlugin(edge.at(ann), user.sessionToken), /503/);
    await operate(second.dataDir, 'user', 'import', file);
    t.equal(await setMap('node-2'), '');
    await operate(first.dataDir, 'user', 'delete', 'ann@example.com');
    t.equal(await stream.waitEnd(), 'properly', 'a stream of the old node ends');

    const again = await tlsPlugin(edge.at(ann), user.sessionToken);
    const events = await tlsReader(edge.at(ann), user.key, { 'last-event-id': stream.lastId });
    t.equal((await events.next('replay_gap')).data.reason, 'cursor_not_available');
    await tell(again, report(2, order['executionId'], 'filled'));
    await events.next('command_result', (data) => data.data.status === 'filled');
    t.equal((await read(requestId)).body.executions[0].status, 'filled');

    const replayed = await submit(body, 'before');
    t.equal(replayed.headers.get('idempotent-replayed'), 'true');
    t.equal(replayed.text, accepted.text);
    const conflict = await submit(body, 'another');
    t.equal(verdict(conflict), '409 duplicate_signal_id');
    t.equal((await submit(JSON.stringify(signal()), 'during')).status, 202);

    const old = await call(first.gateway.url, 'GET', `/api/v1/signals/${requestId}`, {
      headers: bearer(user.key),
    });
    t.equal(verdict(old), '401 invalid_api_key', 'the old node does not know the key any more');
    for (const other of others) t.equal((await other(JSON.stringify(signal()), 'on')).status, 202);
    again.cut();
    events.close();
  },
);

t.test('the proxy is restarted after a change of its variables, which a reload keeps', (t) => {
  const [, afterwards = ''] = page.split('sudo tee -a /etc/default/haproxy\n');
  t.match(afterwards.slice(0, afterwards.indexOf('```')), 'systemctl restart haproxy\n');
  t.end();
});
