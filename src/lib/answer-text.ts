/**
 * Reads the text of an HTTP answer up to a bound: another server in the gateway's place may send an endless one or,
 * compressed, gigabytes within any timeout.
 */

/** @throws when the text is longer, without reading on. */
export async function answerText({ body }: Response, bytesMax: number): Promise<string> {
  const received: AsyncIterable<Uint8Array> | [] = body ?? [];
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of received) {
    length += part.byteLength;
    // Leaving the loop closes the connection.
    if (length > bytesMax) throw new Error(`the answer has more than ${bytesMax} bytes`);
    parts.push(part);
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}
