/** How many files the gateway may have open: each connection of a bot, stream or terminal is one. */
import { readFileLimit } from '../lib/file-limit.js';
import type { Check } from './check.js';
import { type Finding, reporter } from './finding.js';

/** Ten thousand connections, and what the process itself has open. */
const enough = 10_240;
const tooFew = 1_024;
const remedy =
  'Raise it with LimitNOFILE=65536 in the systemd unit, or with "ulimit -n 65536" in the shell ' +
  'that starts the gateway, and start it again.';
const report = reporter('files');

export const checkFileLimit: Check = ({ gatewayPid }) => {
  const limit = readFileLimit(gatewayPid ?? 'self');
  if (limit === undefined) {
    return [report.ok('The system does not tell how many files a process may have open.')];
  }
  const who = gatewayPid === undefined ? 'A gateway started here' : 'The running gateway';
  return [judgeFileLimit(who, limit)];
};

export function judgeFileLimit(who: string, limit: number): Finding {
  const message = `${who} may have ${limit === Infinity ? 'any number of' : limit} files open`;
  if (limit < tooFew) return report.problem(`${message}, too few for its connections.`, remedy);
  if (limit < enough) {
    return report.warning(`${message}; ten thousand connections need ${enough}.`, remedy);
  }
  return report.ok(`${message}.`);
}
