/** Writes that must survive a power cut: all bytes of a text, and the entries of a directory. */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** One write may take only a part of the bytes. `file` is a descriptor. */
export function writeAll(file: number, text: string): void {
  const bytes = Buffer.from(text);
  let written = 0;
  while (written < bytes.length) written += writeSync(file, bytes, written);
}

/** A new, linked or renamed file is durable only after a flush of its directory. */
export function syncDirectory(path: string): void {
  syncFile(path);
}

/** Returns when all that can be read of the file is on disk, whichever process wrote it. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** As `syncFile` or `syncDirectory`, off the event loop: a disk may take a second for it. */
export async function syncWithoutBlocking(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
