/**
 * Reads the id of the first block of an event stream: where the stream begins. The block has no data, so the
 * parser of events does not tell of it. Holds the text of that block until it is complete.
 */

/** Characters after which a first block without an end counts as none: several times the gateway's. */
const lengthMax = 1_024;
const blankLine = /\n\r?\n/;

export class StreamStart {
  #text: string | undefined = '';

  /** @returns the id, once, with the text that completes the block; otherwise undefined. */
  feed(text: string): string | undefined {
    if (this.#text === undefined) return undefined;
    const begin = this.#text + text;
    const end = blankLine.exec(begin)?.index;
    this.#text = end === undefined && begin.length <= lengthMax ? begin : undefined;
    if (end === undefined) return undefined;
    const block = begin.slice(0, end);
    return /^data/m.test(block) ? undefined : /^id: ?(.+?)\r?$/m.exec(block)?.[1];
  }
}
