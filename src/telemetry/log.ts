/**
 * The log: JSON lines on standard error. No secret may reach it, so it is guarded twice: fields that
 * are named like secrets are masked at any depth, and what looks like one of our credentials is cut
 * out of the finished line, wherever it stood. Buffered and written asynchronously, since a slow
 * reader of standard error must not hold the loop; what is left is written when the process exits.
 */
import { pino, type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from '../settings.js';

export type Log = Logger;

const mask = '[hidden]';
/** Matches whole words of a field's name: `jwtSecret` and `session_token`, not `tokenGeneration`. */
const secretField = /(?:authorization|password|passwordhash|token|secret|apikey|cookie)$/i;
/** API keys and session tokens longer than what a displayPrefix shows, and JSON Web Tokens. */
const credential =
  /svc_api_[\w-]{10,}|sbs_[\w-]{10,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]+|Bearer [^\s"\\]{10,}/g;
/** Deeper nesting is not of our making; it is left out rather than searched. */
const depthMax = 6;

/** @param destination where the lines go; standard error unless a test wants them. */
export function createLog(level: LogLevel, destination?: DestinationStream): Log {
  const target = destination ?? pino.destination({ dest: 2, sync: false });
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        bindings: (bindings) => hideSecrets(bindings, 0) as Record<string, unknown>,
        log: (fields) => hideSecrets(fields, 0) as Record<string, unknown>,
      },
      serializers: {
        err: (error: Error) => hideSecrets(pino.stdSerializers.err(error), 0),
      },
      hooks: { streamWrite: (line) => line.replace(credential, mask) },
    },
    target,
  );
}

function hideSecrets(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Error) return value;
  if (depth === depthMax) return '[nested too deeply]';
  if (Array.isArray(value)) return value.map((item) => hideSecrets(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      secretField.test(key) ? mask : hideSecrets(item, depth + 1),
    ]),
  );
}
