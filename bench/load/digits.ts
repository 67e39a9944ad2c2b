/** Whole numbers as ASCII digits within bytes that are sent or read again and again: no number costs a string. */
const zero = 0x30;

/** The last `width` digits, with leading zeros. */
export function writeDigits(bytes: Uint8Array, at: number, width: number, value: number): void {
  let rest = value;
  for (let place = at + width - 1; place >= at; place--) {
    const next = Math.floor(rest / 10);
    bytes[place] = zero + rest - next * 10;
    rest = next;
  }
}

export function readDigits(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let place = at; place < at + width; place++) {
    value = value * 10 + (bytes[place] as number) - zero;
  }
  return value;
}
