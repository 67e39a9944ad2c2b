import t from 'tap';
import type { NotAccepted } from '../../src/signals/pending-signal.js';
import type { Accepted } from '../../src/signals/accepted-signal.js';
import type { Writer } from '../../src/store/store.js';
import { HeldCommits } from '../support/held-commits.js';
import { SimulatedGateway, turns, user, type SignalWish } from '../support/simulated-gateway.js';

t.test('request, executions, signalId and idempotency record are one write', async (t) => {
  const gateway = new SimulatedGateway();
  await gateway.plugin();
  const written: string[] = [];
  const { memory } = gateway;
  let writes = 0;
  Object.assign(gateway.store, {
    write: (fill: (batch: Writer) => void) => {
      writes++;
      fill({ put: (collection) => void written.push(collection), remove: () => undefined });
      return memory.write(fill);
    },
  });
  const accepted = accept(gateway, { platform: 'terminal_a', idempotencyKey: 'k' });
  t.equal(writes, 1);
  t.strictSame(written.sort(), ['idempotency', 'openExecutions', 'requests', 'signalIds']);
  await turns();
  t.equal(accepted.answers.length, 1);
  t.equal(gateway.instruments.signalsAccepted.value, 1);
});

t.test('the answer is what the documents say, and what a retry gets byte for byte', async (t) => {
  const gateway = new SimulatedGateway();
  const { answers } = accept(gateway, { signalId: 'a "quoted" é', idempotencyKey: 'k' });
  t.equal(answers.length, 0, 'nothing is promised before the flush');
  await turns();
  const accepted = answers[0] as Accepted;
  const body = JSON.parse(accepted.answer) as Record<string, unknown>;
  t.strictSame(Object.keys(body), ['requestId', 'signalId', 'status', 'acceptedAt']);
  t.match(body, {
    requestId: /^req_[0-9A-Z]{26}$/,
    signalId: 'a "quoted" é',
    status: 'accepted',
    acceptedAt: '2026-01-15T12:00:00.000Z',
  });
  t.strictSame(gateway.store.get('idempotency', ['u1', 'k']), {
    fingerprint: 'signal a "quoted" é',
    requestId: body['requestId'],
    answer: accepted.answer,
    expiresAt: gateway.clock.now() + 86_400_000,
  });
  t.match(
    gateway.idempotency.lookUp('u1', 'k', () => 'signal a "quoted" é', gateway.clock.now()),
    {
      kind: 'replay',
      record: { answer: accepted.answer },
    },
  );
});

t.test(
  'an order’s executions say what its payload says, in the documented types only',
  async (t) => {
    const gateway = new SimulatedGateway();
    await gateway.plugin();
    const rows: [SignalWish, object][] = [
      [
        {
          payload:
            '{"instrument":"ES","side":"buy","executionType":"limit","quantity":2.5,"limitPrice":-1}',
        },
        {
          instrument: 'ES',
          side: 'buy',
          executionType: 'limit',
          quantity: 2.5,
          limitPrice: -1,
          filledQuantity: 0,
          remainingQuantity: 2.5,
          orderRef: /^ord_/,
        },
      ],
      [
        {
          payload:
            '{"instrument":7,"side":null,"executionType":[],"quantity":"2","limitPrice":1e999}',
        },
        {
          instrument: null,
          side: null,
          executionType: null,
          quantity: null,
          limitPrice: null,
          filledQuantity: 0,
          remainingQuantity: null,
          orderRef: /^ord_/,
        },
      ],
      [{ payload: termsOf(64) }, JSON.parse(termsOf(64)) as object],
      [
        { payload: termsOf(65) },
        { side: null, executionType: null, instrument: null, quantity: 1 },
      ],
      [{ payload: '{"__proto__":{"side":"buy"}}' }, { side: null, instrument: null }],
      [{ type: 'position', cmd: 'submit', payload: '{"quantity":1}' }, { orderRef: null }],
      [{ type: 'order', cmd: 'close', payload: '{"quantity":1}' }, { orderRef: null }],
      [
        { type: 'position', cmd: 'close', payload: '{"instrument":"ES","quantity":1}' },
        {
          instrument: null,
          quantity: null,
          filledQuantity: null,
          remainingQuantity: null,
          orderRef: null,
        },
      ],
    ];
    let all: string[] | undefined;
    for (const [wish, expected] of rows) {
      const [id = ''] = await gateway.submit(wish);
      const execution = gateway.durable(id);
      t.match(execution, expected, wish.payload ?? '');
      const fields = Object.keys(execution ?? {});
      all ??= fields;
      t.strictSame(fields, all, 'what is not known is null');
    }
  },
);

function termsOf(length: number): string {
  const text = 'x'.repeat(length);
  return JSON.stringify({ side: text, executionType: text, instrument: text, quantity: 1 });
}

t.test('beyond executionsPerSignal there is one execution more, denied', async (t) => {
  const gateway = new SimulatedGateway({ limits: { executionsPerSignal: 2 } });
  for (const instanceId of ['desk-1', 'desk-2', 'desk-3', 'desk-4']) {
    await gateway.plugin({ instanceId });
  }
  const ids = await gateway.submit();
  t.equal(ids.length, 3);
  t.equal(gateway.store.get('requests', ['u1', `req_${ids[0]?.split('_')[1]}`])?.executionCount, 3);
  t.match(gateway.store.get('finalExecutions', ['u1', ids[2] as string]), {
    status: 'denied',
    reasonCode: 'too_many_executions',
    platform: 'terminal_a',
    instanceId: null,
    accountName: null,
    maySend: false,
  });
  t.equal(gateway.book.size, 2);
});

t.test(
  'a platform without a terminal becomes a denied execution, final from the start',
  async (t) => {
    const gateway = new SimulatedGateway();
    const [id = ''] = await gateway.submit({ platform: 'terminal_b' });
    t.match(gateway.store.get('finalExecutions', ['u1', id]), {
      status: 'denied',
      reasonCode: 'no_active_terminal',
      delivery: 'not_sent',
      accountName: null,
      maySend: false,
    });
    t.equal(gateway.book.size, 0);
  },
);

t.test('a signalId is taken from the decision on, for its user alone', async (t) => {
  const gateway = new SimulatedGateway();
  const { answers } = accept(gateway, { signalId: 'a b' });
  const holder = () => gateway.acceptance.holderOf('u1', 'a b');
  t.strictSame(holder(), {}, 'while it is in flight, nobody knows whether there is a request');
  t.equal(gateway.acceptance.holderOf('u2', 'a b'), undefined);
  await turns();
  const { requestId } = (answers[0] as Accepted).request;
  t.strictSame(holder(), { requestId }, 'by the store');
  t.strictSame(gateway.restart().acceptance.holderOf('u1', 'a b'), { requestId });
});

for (const fate of ['lost', 'kept'] as const) {
  t.test(
    `a failed commit whose data was ${fate}: unknown, until the disk takes writes`,
    async (t) => {
      const gateway = new SimulatedGateway();
      const plugin = await gateway.plugin();
      gateway.memory.failNextCommits(1, fate);
      const { answers } = accept(gateway, { signalId: 's', idempotencyKey: 'k' });
      t.equal(gateway.keyState('signal s'), 'request_in_progress');
      await turns();
      t.strictSame(answers, ['signal_processing_failed']);
      t.equal(gateway.keyState('signal s'), 'idempotency_outcome_unknown');
      t.strictSame(gateway.acceptance.holderOf('u1', 's'), {});
      t.strictSame(plugin.submitted, []);
      await gateway.pass(1_000);
      t.match(
        gateway.acceptance.holderOf('u1', 's'),
        fate === 'kept' ? { requestId: /^req_/ } : undefined,
      );
      t.equal(gateway.keyState('signal s'), fate === 'kept' ? 'replay' : 'free');
      t.strictSame(plugin.submitted, fate === 'kept' ? ['s'] : []);
      t.strictSame(gateway.refunds, fate === 'kept' ? [] : ['u1']);
      t.equal(answers.length, 1, 'the bot has had its answer');
    },
  );
}

t.test(
  'a later acceptance that succeeds ends the doubts too, before it is sent itself',
  async (t) => {
    const gateway = new SimulatedGateway();
    const plugin = await gateway.plugin();
    // As if the next commit's success were known before the disk's health has heard of this one's failure.
    Object.assign(gateway.health, { noteCommit: () => undefined });
    gateway.memory.failNextCommits(1, 'kept');
    accept(gateway, { signalId: 's', idempotencyKey: 'k' });
    await turns();
    t.strictSame(plugin.submitted, []);
    await gateway.submit({ signalId: 't' });
    t.strictSame(plugin.submitted, ['s', 't']);
    t.equal(gateway.keyState('signal s'), 'replay');
  },
);

t.test(
  'an acceptance that stays under way for 5 minutes is in doubt, and may still succeed',
  async (t) => {
    const gateway = new SimulatedGateway();
    const plugin = await gateway.plugin();
    const commits = new HeldCommits(gateway);
    const { answers } = accept(gateway, { signalId: 's', idempotencyKey: 'k', ttlMs: 300_000 });
    for (let beats = 0; beats < 4; beats++) {
      await gateway.pass(60_000);
      plugin.say({ type: 'heartbeat' });
    }
    await gateway.pass(59_999);
    t.equal(gateway.keyState('signal s'), 'request_in_progress');
    await gateway.pass(1);
    t.equal(gateway.keyState('signal s'), 'idempotency_outcome_unknown');
    t.strictSame(answers, ['signal_processing_failed']);
    await commits.releaseAll();
    t.equal(gateway.keyState('signal s'), 'replay');
    t.strictSame(answers, ['signal_processing_failed'], 'it answers once');
  },
);

t.test('a write that is refused has not happened: the key and the quota are free', async (t) => {
  const gateway = new SimulatedGateway();
  gateway.memory.refuseWrites(true);
  const wish = { signalId: 's', idempotencyKey: 'k' };
  const { answers } = accept(gateway, wish);
  await turns();
  t.strictSame(answers, ['storage_unavailable']);
  t.equal(gateway.keyState('signal s'), 'free');
  t.equal(gateway.acceptance.holderOf('u1', 's'), undefined);
  t.strictSame(gateway.refunds, ['u1']);
  gateway.memory.refuseWrites(false);
  const again = accept(gateway, wish);
  await turns();
  t.match(again.answers, [{ request: { signalId: 's' } }]);
});

for (const [name, fate] of Object.entries({
  'succeeds in the end': 'kept',
  'fails in the end': 'lost',
  'fails, and its data is there': 'kept and failed',
})) {
  t.test(`a commit that hangs is answered within seconds, and ${name}`, async (t) => {
    const gateway = new SimulatedGateway();
    const plugin = await gateway.plugin();
    const before = gateway.deadlines.size;
    const release = gateway.memory.hang();
    const { answers } = accept(gateway, { signalId: 's', idempotencyKey: 'k', ttlMs: 300_000 });
    await gateway.pass(2_999);
    t.strictSame(answers, []);
    await gateway.pass(1);
    t.strictSame(answers, ['signal_processing_failed']);
    t.equal(gateway.keyState('signal s'), 'request_in_progress', 'it is still under way');
    if (fate !== 'kept') gateway.memory.failNextCommits(1, fate === 'lost' ? 'lost' : 'kept');
    release();
    await turns();
    if (fate !== 'kept') {
      t.equal(gateway.keyState('signal s'), 'idempotency_outcome_unknown');
      await gateway.pass(1_000);
    }
    t.equal(gateway.keyState('signal s'), fate === 'lost' ? 'free' : 'replay');
    t.strictSame(plugin.submitted, fate === 'lost' ? [] : ['s']);
    t.strictSame(gateway.refunds, fate === 'lost' ? ['u1'] : []);
    t.equal(answers.length, 1);
    const open = fate === 'lost' ? 0 : 1;
    t.equal(gateway.deadlines.size, before + open, 'but the execution’s own deadline');
  });
}

t.test('a stale time shorter than that of an answer counts for both', async (t) => {
  const gateway = new SimulatedGateway({ limits: { staleProcessingMs: 1_000 } });
  gateway.memory.hang();
  const { answers } = accept(gateway, { signalId: 's', idempotencyKey: 'k' });
  await gateway.pass(999);
  t.strictSame(answers, []);
  await gateway.pass(1);
  t.strictSame(answers, ['signal_processing_failed']);
  t.equal(gateway.keyState('signal s'), 'idempotency_outcome_unknown');
});

t.test('a doubt ends without any other request, after as many tries as it takes', async (t) => {
  const gateway = new SimulatedGateway();
  // As if the disk’s health had not yet heard of the failure.
  Object.assign(gateway.health, { noteCommit: () => undefined });
  gateway.memory.failNextCommits(4, 'lost');
  accept(gateway, { signalId: 's', idempotencyKey: 'k' });
  for (let tries = 0; tries < 4; tries++) {
    await turns();
    t.equal(gateway.keyState('signal s'), 'idempotency_outcome_unknown');
    await gateway.pass(1_000);
  }
  t.equal(gateway.keyState('signal s'), 'free');
});

t.test('a success says nothing of a signal that came after it', async (t) => {
  const gateway = new SimulatedGateway();
  const plugin = await gateway.plugin();
  const commits = new HeldCommits(gateway);
  accept(gateway, { signalId: 's', ttlMs: 300_000 });
  const later = accept(gateway, { signalId: 't', idempotencyKey: 'k', ttlMs: 300_000 });
  await gateway.pass(300_000, 60_000);
  await commits.releaseOne();
  t.equal(gateway.keyState('signal t'), 'idempotency_outcome_unknown');
  await commits.releaseAll();
  t.equal(gateway.keyState('signal t'), 'replay');
  t.strictSame(later.answers, ['signal_processing_failed']);
  t.strictSame(plugin.submitted, [], 'after its TTL nothing is sent');
  t.strictSame(gateway.refunds, []);
});

t.test('a look at the store settles only what was in doubt when it began', async (t) => {
  const gateway = new SimulatedGateway({ limits: { staleProcessingMs: 5_000 } });
  const commits = new HeldCommits(gateway);
  accept(gateway, { signalId: 's' });
  await gateway.pass(6_000, 1_000);
  accept(gateway, { signalId: 't', idempotencyKey: 'k' });
  await gateway.pass(5_000);
  // Releases the commit of s, and that of the look at the store for which the doubt about s is the reason.
  for (let i = 0; i < 2; i++) await commits.releaseOne();
  t.equal(gateway.keyState('signal t'), 'idempotency_outcome_unknown');
  await commits.releaseAll();
  t.equal(gateway.keyState('signal t'), 'replay');
});

t.test('what was in doubt and succeeds all the same is sent once', async (t) => {
  const gateway = new SimulatedGateway({ limits: { staleProcessingMs: 5_000 } });
  const plugin = await gateway.plugin();
  const release = gateway.memory.hang();
  accept(gateway, { signalId: 's' });
  await gateway.pass(5_000);
  release();
  await turns();
  await gateway.submit({ signalId: 't' });
  t.strictSame(plugin.submitted, ['s', 't'], 'the success of t settles what is in doubt');
});

t.test('what was in doubt and turns out refused is settled once', async (t) => {
  const gateway = new SimulatedGateway({ limits: { staleProcessingMs: 5_000 } });
  const plugin = await gateway.plugin();
  const release = gateway.memory.hang();
  accept(gateway, { signalId: 'before' });
  await turns();
  const wish = { signalId: 's', idempotencyKey: 'k', ttlMs: 300_000 };
  accept(gateway, wish);
  await gateway.pass(5_000);
  t.equal(gateway.keyState('signal s'), 'idempotency_outcome_unknown');
  gateway.memory.failNextCommits(1);
  release();
  await turns();
  t.equal(gateway.keyState('signal s'), 'free', 'it only waited behind the commit that failed');
  const commits = new HeldCommits(gateway);
  gateway.clock.advance(1_000);
  const again = accept(gateway, wish);
  // Releases the look at the store that settles the doubts.
  await commits.releaseOne();
  t.equal(gateway.keyState('signal s'), 'request_in_progress', 'the retry has the key');
  t.strictSame(gateway.acceptance.holderOf('u1', 's'), {}, 'and the signalId');
  t.equal(gateway.book.openOrders.of(1), 1);
  await commits.releaseAll();
  t.match(again.answers, [{ request: { signalId: 's' } }]);
  t.strictSame(plugin.submitted, ['s']);
  t.equal(gateway.book.openOrders.of(1), 1);
});

t.test(
  'a command that is no order counts among no open orders, on its way or stored',
  async (t) => {
    const gateway = new SimulatedGateway();
    await gateway.plugin();
    const commits = new HeldCommits(gateway);
    const { answers } = accept(gateway, { type: 'position', cmd: 'close' });
    accept(gateway, {});
    t.equal(gateway.book.openOrders.of(1), 1);
    await commits.releaseAll();
    t.equal(answers.length, 1);
    t.equal(gateway.book.openOrders.of(1), 1);
  },
);

t.test('acceptances of one turn share a commit, and fail together', async (t) => {
  const gateway = new SimulatedGateway();
  gateway.memory.failNextCommits(1);
  const one = accept(gateway, {});
  const two = accept(gateway, {});
  await turns();
  const three = accept(gateway, {});
  await turns();
  t.strictSame(
    [one.answers, two.answers],
    [['signal_processing_failed'], ['signal_processing_failed']],
  );
  t.ok(three.answers[0], 'a commit that succeeds is answered');
  t.strictSame(gateway.refunds, ['u1', 'u1'], 'and shows what became of the others');
});

t.test(
  'an error that is no failure of the disk is a bug: in doubt, and not swallowed',
  async (t) => {
    const gateway = new SimulatedGateway();
    const thrown = new Promise((resolve) => process.once('unhandledRejection', resolve));
    const { answers } = accept(gateway, { signalId: 'x'.repeat(3_000), idempotencyKey: 'k' });
    t.match(await thrown, { name: 'RangeError' });
    t.strictSame(answers, ['signal_processing_failed']);
  },
);

t.test('what is settled leaves no deadline of its acceptance', async (t) => {
  const gateway = new SimulatedGateway();
  const before = gateway.deadlines.size;
  await gateway.submit({ platform: 'terminal_b' });
  t.equal(gateway.deadlines.size, before);
  gateway.memory.failNextCommits(1);
  await gateway.submit({ platform: 'terminal_b' });
  await gateway.pass(1_000);
  t.equal(gateway.deadlines.size, before);
});

const commitsAtStop = {
  succeeds: { failures: 0, isFull: false },
  fails: { failures: 1, isFull: false },
  'succeeds on a disk that takes no more writes': { failures: 0, isFull: true },
};
for (const [ends, { failures, isFull }] of Object.entries(commitsAtStop)) {
  t.test(`a gateway that stops waits for a commit of a signal, which ${ends}`, async (t) => {
    const gateway = new SimulatedGateway();
    const plugin = await gateway.plugin();
    plugin.drop();
    await turns();
    const release = gateway.memory.hang();
    gateway.memory.failNextCommits(failures);
    const { answers } = accept(gateway, {});
    await turns();
    gateway.memory.refuseWrites(isFull);
    const stopped = gateway.core.stop().then(() => gateway.store.close());
    await turns();
    release();
    await stopped;
    t.match(answers, [failures === 0 ? { answer: /accepted/ } : 'signal_processing_failed']);
  });
}

t.test('the count of the day is kept with the request', async (t) => {
  const gateway = new SimulatedGateway();
  await gateway.submit();
  await gateway.submit();
  t.strictSame(
    gateway.store.range('requests').map(({ record }) => record.signalsToday),
    [1, 2],
  );
});

function accept(gateway: SimulatedGateway, wish: SignalWish) {
  const answers: (Accepted | NotAccepted)[] = [];
  gateway.accept(wish, (accepted) => answers.push(accepted), user);
  return { answers };
}
