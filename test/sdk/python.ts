/** The Python of this machine that has what the SDK needs, and where the SDK is. */
import { fileURLToPath } from 'node:url';
import { missing } from '../support/installed.js';

/** From build/test/sdk to the sources. */
export const root = fileURLToPath(new URL('../../..', import.meta.url));
export const sdk = `${root}src/sdk/python`;

const asks = ['-c', 'import sys, websockets; assert sys.version_info >= (3, 9)'];
/** The system's Python has the system's packages, even if PATH has another Python first. */
const programs = ['python3', '/usr/bin/python3'];

export const python = programs.find((program) => missing(program, asks) === false);

/** For a test's `skip`. */
export const noPython =
  python === undefined &&
  `no Python 3.9 with websockets (Debian: python3-websockets): ${String(missing('python3', asks))}`;

/** Without the second, Python leaves compiled files beside the sources. */
export const environment = { PYTHONPATH: sdk, PYTHONDONTWRITEBYTECODE: '1' };
