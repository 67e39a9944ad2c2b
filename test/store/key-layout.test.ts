/** The lists that follow from the table of collections, each against what it has to be. */
import t from 'tap';
import { collections, collectionsWith } from '../../src/store/key-layout.js';

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
    'sources',
  ]);
  t.end();
});

t.test('what a user’s file holds, in its order: open executions before the final ones', (t) => {
  t.same(collectionsWith('exported'), [
    'requests',
    'signalIds',
    'idempotency',
    'openExecutions',
    'finalExecutions',
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
    'idempotency',
    'signalIds',
    'sources',
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
    'sources',
  ]);
  t.end();
});
