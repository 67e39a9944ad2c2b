/**
 * A process of a bench: a server under test, or a load generator. It says one line of JSON on its
 * standard output when it is ready, may be asked for more line by line, and ends with SIGTERM or when
 * its standard input closes. Whatever happens to the bench, none outlives it: see end-with-parent.ts.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';

export interface SideOptions {
  readonly name: string;
  /** Path of the compiled program. */
  readonly program: string;
  readonly args?: readonly string[];
  readonly nodeFlags?: readonly string[];
}

export type Line = Readonly<Record<string, unknown>>;

export interface Side {
  readonly name: string;
  /** Where a server listens; '' for a generator. */
  readonly url: string;
  readonly pid: number;
  /** Every text of the ready line. */
  readonly info: Readonly<Record<string, string>>;
  /** Sends one line and waits for the next one. Rejects when the process ends first. */
  ask(command: object): Promise<Line>;
  /** Ends the process and waits for its end. */
  stop(): Promise<void>;
}

/** A start that builds indexes or rebuilds state over a million requests is well within it. */
const readyWithinMs = 60_000;
const stopWithinMs = 15_000;
const logCharactersMax = 8_192;

const endWithParent = new URL('./end-with-parent.js', import.meta.url).href;
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export async function startSide(options: SideOptions): Promise<Side> {
  const { name, program, args = [], nodeFlags = [] } = options;
  const flags = [...nodeFlags, '--import', endWithParent];
  const child = spawn(process.execPath, [...flags, program, ...args], {
    env: ownEnvironment(),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  running.add(child);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-logCharactersMax);
  });
  child.stdin.on('error', () => {
    // A process that ended does not read; a request to it is answered by its end.
  });
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, 'close').then(() => running.delete(child));

  const next = (): Promise<Line> =>
    Promise.race([
      nextLine(lines),
      ended.then(() => {
        const how = child.signalCode ?? `exit code ${child.exitCode}`;
        throw new Error(`${name} ended unexpectedly (${how}). Its last words:\n${log}`);
      }),
    ]);

  async function stop(): Promise<void> {
    const patience = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
    child.kill('SIGTERM');
    await ended;
    clearTimeout(patience);
  }

  try {
    const ready = await within(readyWithinMs, next(), `${name} did not get ready`);
    const texts = Object.entries(ready).filter(([, value]) => typeof value === 'string');
    const info = Object.fromEntries(texts) as Record<string, string>;
    const pid = child.pid as number;
    return {
      name,
      url: info['url'] ?? '',
      pid,
      info,
      ask(command) {
        const answer = next();
        child.stdin.write(`${JSON.stringify(command)}\n`);
        return answer;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Without what a test runner loads into every Node process: it would be measured too. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const environment = { ...process.env };
  delete environment['NODE_OPTIONS'];
  return environment;
}

async function nextLine(lines: Interface): Promise<Line> {
  const [line] = (await once(lines, 'line')) as [string];
  return JSON.parse(line) as Line;
}

async function within<T>(ms: number, work: Promise<T>, complaint: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${complaint} within ${ms / 1000} s`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
