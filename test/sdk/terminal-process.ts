/** A terminal of an SDK in a process of its own, and the notices that it prints. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { password as usersPassword } from '../support/gateway-process.js';
import { Inbox } from '../support/inbox.js';

/** A line of JSON that an SDK's program prints on standard error. */
interface Notice {
  readonly notice: string;
}

export interface TerminalProcess {
  readonly process: ChildProcess;
  /** Resolves with the next notice of this kind. Rejects with the output if none comes, or the process ends. */
  notice(kind: string): Promise<Notice>;
  /** Resolves with the exit code, or null after a signal. Rejects with the output if the process goes on. */
  ended(): Promise<number | null>;
  kill(): Promise<void>;
}

export interface Login {
  readonly url: string;
  readonly email: string;
  readonly password?: string;
}

/** Longest wait for the terminal: less than a test's time, so that the error names what did not come. */
const boundMs = 120_000;

/** Starts a terminal, which is killed when the test ends. */
export function startTerminal(
  t: Test,
  [program = '', ...args]: readonly string[],
  environment: Readonly<Record<string, string>>,
  { url, email, password = usersPassword }: Login,
): TerminalProcess {
  const login = {
    SIGNALBOX_URL: url,
    SIGNALBOX_EMAIL: email,
    SIGNALBOX_PASSWORD: password,
  };
  const child = spawn(program, args, {
    env: { ...process.env, ...environment, ...login },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const notices = new Inbox<Notice>();
  let printed = '';
  createInterface({ input: child.stderr }).on('line', (line) => {
    printed += `${line}\n`;
    if (line.startsWith('{')) notices.put(JSON.parse(line) as Notice);
  });
  const closed = once(child, 'close').then(([code]) => code as number | null);
  const tooEarly = closed.then((code): never => {
    throw new Error(`the terminal ended with ${code}:\n${printed}`);
  });
  tooEarly.catch(() => undefined);
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await closed;
  };
  t.teardown(kill);
  return {
    process: child,
    ended: () => inTime('it has not ended', closed),
    kill,
    notice: (kind) => {
      const said = notices.take(({ notice }) => notice === kind);
      return inTime(`it has not said "${kind}"`, Promise.race([said, tooEarly]));
    },
  };

  async function inTime<T>(what: string, happens: Promise<T>): Promise<T> {
    const bound = new AbortController();
    const late = sleep(boundMs, undefined, { signal: bound.signal }).then((): never => {
      throw new Error(`${what} within ${boundMs} ms; it printed:\n${printed}`);
    });
    try {
      return await Promise.race([happens, late]);
    } finally {
      late.catch(() => undefined);
      bound.abort();
    }
  }
}
