/**
 * Takes a password from standard input, or from the operator at the terminal without showing it; a
 * new one twice, and hashes it. Never from an argument: those show in the list of processes.
 */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { passwordLengthMax, passwordProblem } from '../auth/password.js';
import { hash } from '../workers/hash-worker.js';
import { misused, type Outcome, refused } from './command.js';
import type { Io } from './io.js';

export const passwordOption = [
  '--password-stdin',
  'read the password from standard input, up to the end of the input; one line break at its end is left out; ' +
    'at a terminal it is asked for',
] as const;

const passwordQuestion = 'Password: ';
/** Far more than a password; reading on could not make it a valid one. */
const inputLengthMax = 16 * passwordLengthMax;

/** @returns the hash, or what to tell the operator. */
export async function readPasswordHash(
  io: Io,
  options: { readonly passwordStdin?: boolean },
): Promise<string | Outcome> {
  // At a terminal, what is read without a question would be shown as it is typed.
  const isPiped = options.passwordStdin === true && io.stdin().isTTY !== true;
  const password = isPiped ? await readPasswordInput(io) : await askTwice(io);
  if (typeof password !== 'string') return password;
  const problem = problemOf(password);
  return problem ?? hash(password);
}

function problemOf(password: string): Outcome | undefined {
  const problem = passwordProblem(password);
  return problem === undefined ? undefined : refused('invalid_password', problem);
}

/** All that standard input holds, without one line break at its end. */
export async function readPasswordInput(io: Io): Promise<string> {
  const stdin = io.stdin().setEncoding('utf8');
  let input = '';
  for await (const chunk of stdin) {
    input += String(chunk);
    if (input.length > inputLengthMax) break;
  }
  return input.replace(/\r?\n$/, '');
}

async function askTwice(io: Io): Promise<string | Outcome> {
  if (io.stdin().isTTY !== true) {
    return misused(
      'There is no terminal to ask for the password. Give it on standard input with --password-stdin.',
    );
  }
  const questions = openQuestions(io);
  const first = await questions.ask(passwordQuestion);
  // Judged before the second question: a password that is too short or too long need not be typed twice.
  const problem = first === undefined ? undefined : problemOf(first);
  const isAskedAgain = first !== undefined && problem === undefined;
  const second = isAskedAgain ? await questions.ask('The same again: ') : undefined;
  questions.close();
  if (problem !== undefined) return problem;
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
export async function askPassword(io: Io): Promise<string | undefined> {
  const questions = openQuestions(io);
  const answer = await questions.ask(passwordQuestion);
  questions.close();
  return answer;
}

interface Questions {
  /** @returns undefined when the operator breaks off. */
  ask(question: string): Promise<string | undefined>;
  close(): void;
}

/**
 * Nothing that is typed is shown from here to the close: a password that is pasted, or that a program types, may
 * come together with the question, or before it.
 */
function openQuestions(io: Io): Questions {
  // A terminal that is echoed to nowhere: the line can be edited, and is not shown.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: io.stdin(), output: nowhere, terminal: true });
  // Keeps the lines that come before they are asked for.
  const lines = terminal[Symbol.asyncIterator]();
  return {
    async ask(question) {
      io.stderr(question);
      const line = await lines.next();
      io.stderr('\n');
      return line.done === true ? undefined : line.value;
    },
    close: () => terminal.close(),
  };
}
