/**
 * Asks a Node process for a full collection of its garbage, by the inspector that every Node has: what
 * is then left on the heap is in use. Without it the heap of a gateway at ease grows for minutes before
 * V8 looks at it, and no leak could be told from that.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { eventually } from '../../support/eventually.js';

/** For the process's NODE_OPTIONS: on any free port of this machine alone. */
export const inspectorOption = '--inspect=127.0.0.1:0';

const listening = /^Debugger listening on (ws:\S+)$/m;

export class Collector {
  #number = 0;

  private constructor(readonly socket: WebSocket) {}

  /** `log`: what the process has written to standard error so far. */
  static async open(log: () => string): Promise<Collector> {
    const [, url = ''] = await eventually(() => listening.exec(log()));
    const socket = new WebSocket(url);
    await once(socket, 'open');
    return new Collector(socket);
  }

  async collect(): Promise<void> {
    const id = ++this.#number;
    const done = new Promise<void>((resolve) => {
      this.socket.on('message', (data: Buffer) => {
        if ((JSON.parse(data.toString()) as { id?: number }).id === id) resolve();
      });
    });
    this.socket.send(JSON.stringify({ id, method: 'HeapProfiler.collectGarbage' }));
    await done;
    this.socket.removeAllListeners('message');
  }

  close(): void {
    this.socket.terminate();
  }
}
