/** The lists that are derived from the table of collections, each with its expected members. */
import t from 'tap';
import { collections, collectionsWith, collectionTraits } from '../../src/store/key-layout.js';

t.test('every collection, in the order in which the doctor walks them', (t) => {
  t.same(collections, [
    'meta',
    'users',
    'emails',
    'apiKeys',
    'apiKeyHashes',
    'apiKeyUses',
    'sessions',
    'switches',
    'idempotency',
    'signalIds',
    'requests',
    'openExecutions',
    'finalExecutions',
    'fills',
    'unknownOrders',
    'cancelKeys',
    'cancelAlls',
    'cancelAfters',
    'sources',
  ]);
  t.end();
});

t.test('what a user’s file holds, in its order: open executions before the final ones', (t) => {
  t.same(collectionsWith('exported'), [
    'requests',
    'signalIds',
    'idempotency',
    'cancelKeys',
    'cancelAlls',
    'openExecutions',
    'finalExecutions',
    'fills',
    'unknownOrders',
    'sources',
    'users',
    'apiKeys',
    'apiKeyUses',
    'sessions',
  ]);
  t.end();
});

t.test('what the purge of a deleted user removes, requests last', (t) => {
  t.same(collectionsWith('purged'), [
    'openExecutions',
    'finalExecutions',
    'fills',
    'unknownOrders',
    'cancelKeys',
    'idempotency',
    'signalIds',
    'cancelAfters',
    'sources',
    'cancelAlls',
    'requests',
  ]);
  t.end();
});

t.test('the collections whose keys begin with the userId', (t) => {
  t.same(collectionsWith('ownedByKey'), [
    'apiKeyHashes',
    'idempotency',
    'signalIds',
    'requests',
    'openExecutions',
    'finalExecutions',
    'fills',
    'unknownOrders',
    'cancelKeys',
    'cancelAlls',
    'cancelAfters',
    'sources',
  ]);
  t.end();
});

t.test('every collection has its number in the log, for ever', (t) => {
  const numbers = collections.map((name) => [name, collectionTraits[name].number]);
  t.same(Object.fromEntries(numbers), {
    meta: 1,
    users: 2,
    emails: 3,
    apiKeys: 4,
    apiKeyHashes: 5,
    apiKeyUses: 6,
    sessions: 7,
    switches: 8,
    idempotency: 9,
    signalIds: 10,
    requests: 11,
    openExecutions: 12,
    finalExecutions: 13,
    fills: 14,
    unknownOrders: 15,
    cancelKeys: 16,
    cancelAlls: 17,
    cancelAfters: 18,
    sources: 19,
  });
  t.end();
});
