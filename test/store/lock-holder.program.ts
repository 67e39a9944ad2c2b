/** Takes a data directory as a gateway does, says its process id, and stays. */
import { lockDirectory } from '../../src/store/data-directory.js';

lockDirectory(process.argv[2] as string);
process.send?.(`${process.pid}`);
process.on('message', () => undefined);
