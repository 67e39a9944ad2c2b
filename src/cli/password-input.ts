/**
 * Takes a password from standard input, or from the operator at the terminal without showing it; a
 * new one twice, and hashes it. Never from an argument: those show in the list of processes.
 */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { passwordLengthMax, passwordProblem } from '../auth/password.js';
import { hash } from '../workers/hash-worker.js';
import { misused, type Outcome, refused } from './command.js';

export const passwordOption = [
  '--password-stdin',
  'read the password from standard input, up to the end of the input; one line break at its end is left out',
] as const;

/** Far more than a password; what is beyond cannot make it a good one. */
const inputLengthMax = 16 * passwordLengthMax;

/** @returns the hash, or what to tell the operator. */
export async function readPasswordHash(options: {
  readonly passwordStdin?: boolean;
}): Promise<string | Outcome> {
  const password = options.passwordStdin ? await readPasswordInput() : await askTwice();
  if (typeof password !== 'string') return password;
  const problem = passwordProblem(password);
  return problem === undefined ? hash(password) : refused('invalid_password', problem);
}

/** All that standard input holds, without one line break at its end. */
export async function readPasswordInput(): Promise<string> {
  process.stdin.setEncoding('utf8');
  let input = '';
  for await (const chunk of process.stdin) {
    input += String(chunk);
    if (input.length > inputLengthMax) break;
  }
  return input.replace(/\r?\n$/, '');
}

async function askTwice(): Promise<string | Outcome> {
  if (!process.stdin.isTTY) {
    return misused(
      'There is no terminal to ask for the password. Give it on standard input with --password-stdin.',
    );
  }
  const first = await askPassword('Password: ');
  const second = first === undefined ? undefined : await askPassword('The same again: ');
  if (first === undefined || second === undefined) {
    return refused('no_password', 'No password was given; nothing was changed.');
  }
  if (first !== second) {
    return refused(
      'password_mismatch',
      'The two passwords differ; nothing was changed. Run the command again.',
    );
  }
  return first;
}

/** @returns undefined when the operator breaks off. */
export async function askPassword(question: string): Promise<string | undefined> {
  process.stderr.write(question);
  // A terminal that is echoed to nowhere: the line can be edited, and is not shown.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  const answer = await new Promise<string | undefined>((resolve) => {
    terminal.once('line', resolve);
    terminal.once('close', () => resolve(undefined));
  });
  terminal.close();
  process.stderr.write('\n');
  return answer;
}
