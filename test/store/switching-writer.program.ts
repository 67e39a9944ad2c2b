/** Opens the store as the operator's shell does, closes the Public API, says so, and stays. */
import { openStore } from '../../src/store/lmdb-store.js';

const store = openStore(process.argv[2] as string);
await store.write((batch) => batch.put('switches', 'publicApi', { enabled: false }));
process.send?.('flushed');
process.on('message', () => undefined);
