/** Counts the answers on a kept HTTP connection by their status lines, wherever reads cut them. */

const statusLine = Buffer.from('HTTP/1.1 ');
const statusBytes = statusLine.length + 3;
const nothing = Buffer.alloc(0);

export class AnswerCounter {
  succeeded = 0;
  failed = 0;
  #tail = nothing;

  take(chunk: Buffer): void {
    const bytes = this.#tail.length === 0 ? chunk : Buffer.concat([this.#tail, chunk]);
    let at = 0;
    for (;;) {
      const found = bytes.indexOf(statusLine, at);
      if (found < 0 || found + statusBytes > bytes.length) break;
      if (bytes[found + statusLine.length] === 0x32) this.succeeded++;
      else this.failed++;
      at = found + statusBytes;
    }
    this.#tail = Buffer.from(bytes.subarray(Math.max(at, bytes.length - statusBytes + 1)));
  }
}
