/**
 * Triggers a full garbage collection in a Node process through its inspector. Without it the heap of an
 * idle gateway grows for minutes before V8 collects, which looks like a leak.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { eventually } from '../../support/eventually.js';

/** For the process's NODE_OPTIONS: any free port of the loopback interface. */
export const inspectorOption = '--inspect=127.0.0.1:0';

const listening = /^Debugger listening on (ws:\S+)$/m;

export class GarbageCollector {
  #number = 0;

  private constructor(readonly socket: WebSocket) {}

  /** `log` returns the process's standard error so far. */
  static async open(log: () => string): Promise<GarbageCollector> {
    const [, url = ''] = await eventually(() => listening.exec(log()));
    const socket = new WebSocket(url);
    await once(socket, 'open');
    return new GarbageCollector(socket);
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
