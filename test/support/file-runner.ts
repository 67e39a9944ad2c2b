/**
 * A Node process that runs test files, one after another: the test runner, the schemas and the document of
 * the API are loaded and compiled once for all of them, which takes longer than most files do. It is replaced
 * when it dies, and when a file has failed, so that no file inherits what a failure left.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { PassThrough, type Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** What the process tells: output of the file, and its end. */
export type RunnerMessage =
  /** Time that the file has from now on; sent when it begins, and when it sets another time. */
  | { readonly timeMs: number }
  | { readonly tap: string }
  | { readonly ended: FileEnd & { readonly ok: boolean } }
  /** The test runner's own. */
  | { readonly setTimeout: number };

export interface FileRun {
  /** In the format TAP. Ends with the file or its process. */
  readonly output: Readable;
  readonly end: Promise<FileEnd>;
}

export interface FileEnd {
  /** Why the file failed, where its output does not say so: a parser of TAP ignores what follows the plan. */
  readonly complaint?: string | undefined;
  /** Processor seconds of the file and of the processes that it started and awaited. */
  readonly cpuSeconds: number;
}

const program = fileURLToPath(new URL('./file-runner.program.js', import.meta.url));

export interface FileTimes {
  /** Until the file fails. */
  readonly timeoutMs: number;
  /** From the end of its tests until all that it opened has to be closed. */
  readonly closingMs?: number;
  /** From the timeout until a process that does not even notice it is killed. */
  readonly graceMs?: number;
}

export class FileRunner {
  #child: ChildProcess | undefined;

  constructor(readonly times: FileTimes) {}

  /** Starts the file, a path. Only when the last one has ended. */
  run(file: string): FileRun {
    const output = new PassThrough();
    const child = (this.#child ??= this.#start());
    const { graceMs = 10_000 } = this.times;
    const end = new Promise<FileEnd>((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const settle = (fileEnd: FileEnd): void => {
        clearTimeout(timer);
        child.removeAllListeners('message').removeAllListeners('exit');
        output.end();
        resolve(fileEnd);
      };
      child.on('message', (message: RunnerMessage) => {
        if ('timeMs' in message) {
          clearTimeout(timer);
          timer = setTimeout(() => child.kill('SIGKILL'), message.timeMs + graceMs);
        }
        if ('tap' in message) return void output.write(message.tap);
        if (!('ended' in message)) return;
        if (!message.ended.ok) this.stop();
        settle(message.ended);
      });
      child.on('exit', (code, signal) => {
        this.#child = undefined;
        const complaint = `the process of this file ended with ${signal ?? code ?? ''}`;
        settle({ complaint, cpuSeconds: 0 });
      });
    });
    child.send(file);
    return { output, end };
  }

  /** Ends the process, which has no file to run. */
  stop(): void {
    this.#child?.disconnect();
    this.#child = undefined;
  }

  #start(): ChildProcess {
    const { timeoutMs, closingMs = 30_000 } = this.times;
    // Unset by `env`, where the runner of the suite cannot set the variable again: it would load itself into
    // the process and into all that it starts.
    const command = ['-u', 'NODE_OPTIONS', process.execPath, '--enable-source-maps', program];
    return spawn('env', [...command, `${timeoutMs}`, `${closingMs}`], {
      // What it prints is no part of the output of the tests.
      stdio: ['ignore', 2, 2, 'ipc'],
    });
  }
}
