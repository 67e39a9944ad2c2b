/**
 * The log: JSON lines on standard error. No secret may reach it, so each finished line is searched:
 * fields that are named like secrets lose their value, at whatever depth and in errors too, and what
 * looks like one of our credentials is cut out wherever it stands. Lines are written at once, so that
 * a process that dies has said why, and one whose log nobody reads any more can still end; none is
 * written per request.
 */
import { pino, type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from '../settings.js';

export type Log = Logger;

const mask = '[hidden]';
/** By the end of the name: `jwtSecret` and `set-cookie`, but not `tokenGeneration`. */
const secretField =
  /("[^"\\]*(?:authorization|password|passwordHash|token|secret|api_?key|cookie)":)"(?:[^"\\]|\\.)*"/gi;
/** API keys and session tokens, longer than a displayPrefix shows them; user tokens; any bearer. */
const credential =
  /svc_api_[\w-]{10,}|sbs_[\w-]{10,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]+|Bearer [^\s"\\]{10,}/g;

/** @param destination where the lines go; standard error unless a test wants them. */
export function createLog(level: LogLevel, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: hideSecrets },
    },
    destination ?? standardError(),
  );
}

/** A log that cannot be written (a full disk, a closed pipe) must not end what it tells of. */
function standardError(): DestinationStream {
  return pino.destination({ dest: 2, sync: true }).on('error', () => undefined);
}

function hideSecrets(line: string): string {
  return line.replace(secretField, `$1"${mask}"`).replace(credential, mask);
}
