/**
 * Creates the log: JSON lines on standard error. Redacts secrets in each finished line: values of fields with
 * the names of secrets, at every depth and in errors, and all text in the form of a credential. Writes
 * synchronously, so that the last line before a crash is not lost. Refusals are in it, accepted requests are not.
 */
import { pino, type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from '../settings.js';

export type Log = Logger;

const mask = '[hidden]';
/** Matches the end of the name: `jwtSecret` and `set-cookie`, but not `tokenGeneration`. */
const secretField =
  /("[^"\\]*(?:authorization|password|passwordHash|token|secret|api_?key|cookie)":)"(?:[^"\\]|\\.)*"/gi;
/** API keys and session tokens, if longer than a displayPrefix; user tokens; bearer credentials. */
const credential =
  /svc_api_[\w-]{10,}|sbs_[\w-]{10,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]+|Bearer [^\s"\\]{10,}/g;

/** @param destination default: standard error. */
export function createLog(level: LogLevel, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: redactSecrets },
    },
    destination ?? standardError(),
  );
}

/** Ignores write errors: a full disk or a closed pipe must not end the gateway. */
function standardError(): DestinationStream {
  return pino.destination({ dest: 2, sync: true }).on('error', () => undefined);
}

function redactSecrets(line: string): string {
  return line.replace(secretField, `$1"${mask}"`).replace(credential, mask);
}
