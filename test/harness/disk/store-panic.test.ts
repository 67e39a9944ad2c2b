/**
 * A disk that fails writes to lmdb's two meta pages: lmdb then refuses every transaction of the process,
 * reads included (MDB_PANIC). The gateway must exit, so that its supervisor restarts it; the restarted
 * gateway has what the log took meanwhile.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import '../../support/alone.js';
import { type Answer, createKey, login, signal, submitOnce } from '../../support/api.js';
import { eventually } from '../../support/eventually.js';
import { addUser, startGateway } from '../../support/gateway-process.js';
import { askOps } from '../ask-ops.js';
import { isNativeAbort } from './write-failure.js';

/** An LD_PRELOAD library that fails writes to the first two pages of the store while a file exists. */
const shim = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#define FIRST_DATA_BYTE 8192
static int is_broken(int file, off64_t at) {
  const char *flag = getenv("BROKEN_WHILE");
  char link[64], path[4096] = "";
  if (at >= FIRST_DATA_BYTE || !flag || access(flag, F_OK) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  return readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/data.mdb") != 0;
}
#define WRAP(NAME, OFFSET) \\
  ssize_t NAME(int file, const void *bytes, size_t length, OFFSET at) { \\
    ssize_t (*real)(int, const void *, size_t, OFFSET) = dlsym(RTLD_NEXT, #NAME); \\
    if (is_broken(file, at)) { errno = EIO; return -1; } \\
    return real(file, bytes, length, at); \\
  }
WRAP(pwrite, off_t)
WRAP(pwrite64, off64_t)
`;

/**
 * lmdb may abort the process on a failed write, more often on a busy machine: then the test tries
 * again. A supervisor sees either exit, so the test also passes when lmdb aborts every time.
 */
const triesMax = 4;

async function hasWholeIndex(opsUrl: string): Promise<boolean> {
  const { text } = await askOps(opsUrl, '/metrics');
  return text.includes('\nsignalbox_index_waiting_bytes 0\n');
}

const hasCompiler = spawnSync('cc', ['--version']).status === 0 && process.platform === 'linux';
if (!hasCompiler) console.error('NOT TESTED: there is no C compiler to make a disk fail with');

t.test(
  'a store that has given up ends the gateway, and a new start goes on',
  { skip: hasCompiler ? false : 'needs a C compiler' },
  async (t) => {
    const directory = t.testdir({ 'shim.c': shim });
    // LD_PRELOAD ends a path at a space, which the test's own directory may have.
    const folder = mkdtempSync(join(tmpdir(), 'signalbox-shim-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const library = join(folder, 'shim.so');
    const made = spawnSync('cc', [
      '-shared',
      '-fPIC',
      '-o',
      library,
      `${directory}/shim.c`,
      '-ldl',
    ]);
    t.equal(made.status, 0, String(made.stderr));
    const flag = join(directory, 'broken');
    const dataDir = join(directory, 'data');
    await addUser(dataDir, 'ann@example.com');
    const environment = { LD_PRELOAD: library, BROKEN_WHILE: flag };
    const body = JSON.stringify(signal());
    const later = JSON.stringify(signal());
    let key = '';
    let accepted = '';
    let logged: Answer | undefined;

    /** @returns the exit code, or null when lmdb aborted the process by a signal. */
    async function live(): Promise<number | null> {
      const gateway = await startGateway({ dataDir, environment });
      t.teardown(() => gateway.kill());
      if (key === '') {
        const { token } = await login(gateway.url, 'ann@example.com');
        ({ key } = await createKey(gateway.url, token));
        accepted = (await submitOnce(gateway.url, key, body, 'kept')).text;
      }
      // An index that lags would write to the broken disk first, and end the store before the signal comes.
      await eventually(() => hasWholeIndex(gateway.opsUrl));
      const ended = once(gateway.process, 'exit') as Promise<[number | null]>;
      writeFileSync(flag, '');
      // The log takes the signal; the copy from the log into the store meets the broken disk.
      logged = await submitOnce(gateway.url, key, later, 'later');
      const [code] = await ended;
      rmSync(flag);
      if (code === null) t.ok(isNativeAbort(gateway.process), 'lmdb ended it');
      else t.match(gateway.log(), /"level":"fatal".*MDB_PANIC.*the gateway ends/);
      return code;
    }
    let code: number | null = null;
    for (let i = 0; code === null && i < triesMax; i++) code = await live();
    t.ok(code === null || code === 1, 'the supervisor sees a failure');

    const next = await startGateway({ dataDir });
    t.teardown(() => next.kill());
    t.equal((await submitOnce(next.url, key, body, 'kept')).text, accepted);
    t.equal(logged?.status, 202);
    t.equal((await submitOnce(next.url, key, later, 'later')).text, logged?.text, 'the log had it');
    t.equal((await submitOnce(next.url, key, signal())).status, 202);
  },
);
