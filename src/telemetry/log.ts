/**
 * Creates the log: JSON lines on standard error. Redacts secrets in each finished line: values of fields with
 * the names of secrets, at every depth and in errors, and all text in the form of a credential. Writes at once
 * and never waits for a reader, except shortly at the exit, so that the last line before a crash is not lost.
 * Refusals are in it, accepted requests are not.
 */
import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { pino, type DestinationStream, type Logger } from 'pino';
import { systemClock } from '../lib/clock.js';
import type { LogLevel } from '../settings.js';
import { createLineWriter } from './line-writer.js';

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
  const log: Log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: (line) => escapeControls(redactSecrets(line)) },
    },
    destination ??
      standardError((lines) =>
        log.warn(
          { event: 'dropped', lines },
          'Log lines were dropped, because the reader of the log was too slow or has stopped.',
        ),
      ),
  );
  return log;
}

/** Ignores write errors: a full disk or a closed pipe must not end the gateway. */
function standardError(onDropped: (lines: number) => void): DestinationStream {
  const descriptor = fstatSync(2).isFile() ? 2 : nonBlockingDescriptor();
  const write = (bytes: Uint8Array): number => writeSync(descriptor, bytes);
  const writer = createLineWriter({ write, clock: systemClock, onDropped });
  process.on('exit', () => writer.flush());
  return writer;
}

/**
 * Opened anew where possible: other processes may share descriptor 2, and a change of its flags would affect
 * them. A socket, or a pipe of another user, cannot be opened; then Node's stream makes it non-blocking.
 */
function nonBlockingDescriptor(): number {
  try {
    return openSync(
      '/proc/self/fd/2',
      constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
    );
  } catch {
    return process.stderr.fd;
  }
}

/**
 * JSON escapes only the control characters of ASCII. The others, in the name of a user's terminal for example, would
 * steer the terminal of an operator who looks at the log.
 */
function escapeControls(line: string): string {
  return line.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character.split('').map(escaped).join(''),
  );
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function redactSecrets(line: string): string {
  return line.replace(secretField, `$1"${mask}"`).replace(credential, mask);
}
