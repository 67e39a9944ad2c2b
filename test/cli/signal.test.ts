/** The commands that lead from a key, a user or an order to a signal: on a real gateway and without one. */
import t from 'tap';
import { signal, submit } from '../support/api.js';
import { eventually } from '../support/eventually.js';
import { report, tell } from '../support/frames.js';
import { startTestGateway } from '../support/gateway.js';
import { runInProcess } from '../support/in-process.js';

const clientAddress = '127.0.0.1';
const traceId = /^[0-9a-f]{32}$/;

t.test('signals, sessions and keys in the operator’s hands', async (t) => {
  const gateway = await startTestGateway(t, { users: 3 });
  const [ann, bob] = [await gateway.user(), await gateway.user()];
  const json = async (...args: string[]): Promise<any> =>
    JSON.parse(await gateway.command(...args, '--json'));
  const refused = (...args: string[]) => runInProcess([...args, '--data-dir', gateway.dataDir]);

  const plugin = await gateway.plugin(ann);
  const filled = await gateway.order(ann, plugin);
  const native = { orderId: 'B-4711', state: 'filled' };
  await tell(plugin, report(1, filled.executionId, 'filled', { native }));
  const working = await gateway.order(ann, plugin);
  await tell(plugin, report(2, working.executionId, 'working'));
  const denied = await gateway.submit(bob);

  t.test(
    'list shows the newest first, of all users or of one, by what became of them',
    async (t) => {
      const ids = async (...flags: string[]): Promise<string[]> =>
        (await json('signal', 'list', ...flags)).map(({ requestId }: any) => requestId);
      t.same(await ids(), [denied, working.requestId, filled.requestId]);
      t.same(await ids('--limit', '1'), [denied]);
      t.same(await ids('--user', ann.email), [working.requestId, filled.requestId]);
      t.same(await ids('--user', ann.email, '--limit', '1'), [working.requestId]);
      t.same(await ids('--status', 'open'), [working.requestId]);
      t.same(await ids('--status', 'completed'), [denied, filled.requestId]);
      t.same(await ids('--status', 'unknown'), []);
      t.match(await json('signal', 'list', '--user', bob.email), [
        {
          email: bob.email,
          keyId: bob.keyId,
          clientAddress,
          traceId,
          executions: [{ status: 'denied' }],
        },
      ]);
      t.match((await json('signal', 'list'))[2].executions, [{ nativeOrderId: 'B-4711' }]);
      const text = await gateway.command('signal', 'list');
      t.match(text, /^ACCEPTED .*\n.*bob|business-1@example\.com +req_\S+ +\d+ +127\.0\.0\.1 /);
      for (const limit of ['0', '1001', '1e2', '']) {
        t.match(await refused('signal', 'list', '--limit', limit), {
          code: 2,
          stderr: /1 to 1000/,
        });
      }
      t.match(await refused('signal', 'list', '--user', 'x@y.zz'), { code: 1, stderr: /no user/ });
    },
  );

  t.test('a long list is read in pages, each row once', async (t) => {
    const carl = await gateway.user();
    for (let i = 0; i < 40; i++) await gateway.submit(carl);
    const listed = await json('signal', 'list', '--user', carl.email, '--limit', '100');
    const ids = listed.map(({ requestId }: any) => requestId);
    t.equal(new Set(ids).size, 40);
    t.same(ids, [...ids].sort().reverse());
  });

  t.test(
    'show says whose order it is, with key, address and trace id of submission and cancel',
    async (t) => {
      const cancelled = await gateway.cancel(ann, working.orderRef);
      t.equal(cancelled.status, 202);
      for (const id of [
        working.requestId,
        working.executionId,
        working.orderRef,
        cancelled.body.cancelRequestId,
      ]) {
        const shown = await json('signal', 'show', id);
        t.match(shown, {
          requestId: working.requestId,
          email: ann.email,
          keyId: ann.keyId,
          clientAddress,
          traceId,
          payload: /"instrument"/,
          executions: [{ status: 'working', cancel: { keyId: ann.keyId, clientAddress } }],
        });
        t.equal(shown.executions[0].cancel.traceId, cancelled.headers.get('x-trace-id'));
      }
      const text = await gateway.command('signal', 'show', filled.requestId);
      t.match(
        text,
        new RegExp(`user +${ann.email}[^]*trace id +[0-9a-f]{32}[^]*at broker +B-4711`),
      );
      t.match(await refused('signal', 'show', 'req_nothing'), {
        code: 1,
        stderr: /no signal "req_nothing"/,
      });
    },
  );

  t.test('a key that the operator makes works, and its secret is shown once', async (t) => {
    const made = await json(
      'key',
      'add',
      bob.email,
      '--name',
      'ops',
      '--scopes',
      'signals:read, signals:write',
    );
    t.match(made, {
      name: 'ops',
      scopes: ['signals:read', 'signals:write'],
      expiresAt: null,
      key: /^svc_api_/,
    });
    t.equal((await submit(gateway.url, made.key, signal())).status, 202);
    const ends = '2999-01-01T00:00:00Z';
    const rows: [flags: string[], words: RegExp][] = [
      [['--name', '', '--scopes', 'signals:read'], /name is missing, empty or longer/],
      [['--name', 'x', '--scopes', 'all'], /scopes, each once: events:read, /],
      [
        ['--name', 'x', '--scopes', 'signals:read', '--expires-at', ends],
        /no further ahead than a key may live/,
      ],
    ];
    for (const [flags, words] of rows) {
      t.match(await refused('key', 'add', bob.email, ...flags), { code: 1, stderr: words });
    }
    const text = await gateway.command(
      'key',
      'add',
      bob.email,
      '--name',
      'x',
      '--scopes',
      'signals:read',
    );
    t.match(text, /^API key \d+ of user .* not shown again:\nsvc_api_[\w-]+\n$/);
    t.notMatch(gateway.process.log(), /svc_api_[\w-]{10}/);
    await eventually(() =>
      gateway.process
        .log()
        .split('\n')
        .some(
          (line) => line.includes('"event":"key_made"') && line.includes(`"keyId":${made.id},`),
        ),
    );
  });

  t.test('sessions are listed until they end', async (t) => {
    const sessions = await json('session', 'list', ann.email);
    t.equal(sessions.length, 1);
    t.match(sessions, [{ createdAt: /^\d{4}-.*Z$/, expiresAt: /^\d{4}-.*Z$/ }]);
    t.notMatch(JSON.stringify(sessions), ann.sessionToken);
    await gateway.command('session', 'revoke', ann.email);
    t.same(await json('session', 'list', ann.email), []);
    t.match(await gateway.command('session', 'list', ann.email), /no valid session/);
  });

  t.test('without a gateway the same is shown', async (t) => {
    await gateway.process.stop();
    t.equal((await json('signal', 'show', filled.requestId)).email, ann.email);
    t.equal((await json('signal', 'list', '--user', ann.email)).length, 2);
  });
});
