/** Takes a data directory as a gateway does, says its process id, and stays. */
import { lockDirectory } from '../../src/store/directory-lock.js';

const [directory, role] = process.argv.slice(2) as [string, 'gateway' | 'command'];
await lockDirectory(directory, role);
process.send?.(`${process.pid}`);
process.on('message', () => undefined);
