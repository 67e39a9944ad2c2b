/**
 * Reads the text of an HTTP answer up to a bound: whatever stands in the gateway's place may send one without an end,
 * and compressed, gigabytes within any timeout.
 */

/** @throws when there is more, without reading on. */
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
