/** Whether the native HTTP server loads, and is the one that was tested. */
import { errorText } from '../lib/error-text.js';
import type { Check } from './check.js';
import { reporter } from './finding.js';

const report = reporter('native');

export const checkNative: Check = async () => {
  try {
    const { checkNativeBinary } = await import('../http/native-binary.js');
    const { path, sha256, isKnown } = checkNativeBinary();
    if (isKnown) return [report.ok(`The native HTTP server ${path} is the one that was tested.`)];
    return [
      report.warning(
        `The native HTTP server ${path || '(its file is not known)'} is not one that was tested ` +
          `(SHA-256 ${sha256 || 'not known'}).`,
        'If it was not changed on purpose, install again with "npm ci" from the lock file; ' +
          'native-notes/binary.md tells where the tested files come from.',
      ),
    ];
  } catch (error) {
    return [
      report.problem(
        `The native HTTP server cannot be loaded: ${errorText(error)}.`,
        'Install again with "npm ci", on Linux or macOS with Node 20 or 22.',
      ),
    ];
  }
};
