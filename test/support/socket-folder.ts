/**
 * A folder for Unix sockets: their paths may have some hundred characters, and a test's own folder is
 * often deeper. Removed with the test.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { Test } from 'tap';

export function socketFolder(t: Test): string {
  const folder = mkdtempSync(`${tmpdir()}/signalbox-`);
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
