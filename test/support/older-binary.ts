/** Which of the two native servers runs here: native-notes/binary.md. */
import { basename } from 'node:path';
import { checkNativeBinary } from '../../src/http/native-binary.js';

/** Outside of Linux x64 the older one serves, with faults that the newer one no longer has. */
export const isOlderBinary = basename(checkNativeBinary().path) !== 'uws.node';
