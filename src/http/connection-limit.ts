/**
 * Keeps file descriptors in reserve: closes a connection to the API port beyond its share at once. Otherwise
 * a flood of connections, which needs no credential, would take them all: the log could not open its next
 * file, nor could the operator's commands and the ops port accept a connection. Owns the number of open
 * connections.
 */
import type { Clock, Timer } from '../lib/clock.js';
import { minuteMs } from '../lib/durations.js';
import { countOpenFiles, readFileLimit } from '../lib/file-limit.js';
import type { TemplatedApp } from './uws.js';

/** 64 connections to the ops port, 64 of commands, and the files of the log and of a backup. */
const reserveMax = 160;
/** The reserve is at most the file limit divided by this. */
const reservePart = 4;

export interface RefusedConnections {
  /** Refusals since the last call of `tell`. */
  readonly refused: number;
  readonly connectionsMax: number;
  readonly openFilesMax: number | undefined;
}

export interface ConnectionLimitDeps {
  readonly clock: Clock;
  readonly onRefused: () => void;
  /** Called at the first refusal, and at most once a minute. */
  readonly tell: (refused: RefusedConnections) => void;
}

export class ConnectionLimit {
  /** Connections that may be open. */
  max = Infinity;
  #open = 0;
  #refused = 0;
  #openFilesMax: number | undefined;
  #quiet: Timer | undefined;

  constructor(readonly deps: ConnectionLimitDeps) {}

  /** Sets `max`, unless the system tells no file limit. Call it when the process has opened its own files. */
  measure(): void {
    const openFiles = countOpenFiles();
    this.#openFilesMax = readFileLimit('self');
    if (this.#openFilesMax !== undefined && openFiles !== undefined)
      this.max = connectionsMax(this.#openFilesMax, openFiles);
  }

  watch(app: TemplatedApp): void {
    app.filter((res, change) => {
      this.#open += change;
      if (change < 0 || this.#open <= this.max) return;
      // The native server calls this filter again within `close`, to count it out.
      res.close();
      this.#refuse();
    });
  }

  /** Counts a WebSocket out: the native server counts it in as a connection, but not out. */
  webSocketClosed(): void {
    this.#open--;
  }

  #refuse(): void {
    this.#refused++;
    this.deps.onRefused();
    if (this.#quiet === undefined) this.#tell();
  }

  #tell(): void {
    const { max: connectionsMax } = this;
    this.deps.tell({ refused: this.#refused, connectionsMax, openFilesMax: this.#openFilesMax });
    this.#refused = 0;
    this.#quiet = this.deps.clock.setTimer(minuteMs, () => {
      this.#quiet = undefined;
      if (this.#refused > 0) this.#tell();
    });
  }
}

/** @param openFiles of the process itself. */
export function connectionsMax(openFilesMax: number, openFiles: number): number {
  const reserve = Math.min(reserveMax, Math.floor(openFilesMax / reservePart));
  return Math.max(1, openFilesMax - openFiles - reserve);
}
