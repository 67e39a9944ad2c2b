/** Where V8 allocates what the gateway reads (native-notes/profile.md). */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import { GarbageCollector, inspectorOption } from '../harness/soak/garbage-collector.js';
import { dataDirOf } from '../support/gateway.js';
import { startGateway } from '../support/gateway-process.js';

/** Differs from that of a process with other flags of V8. */
const flagsTag = "require('v8').cachedDataVersionTag()";

function tagWith(...flags: readonly string[]): number {
  const { stdout } = spawnSync(process.execPath, [...flags, '--print', flagsTag], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  return Number(stdout);
}

t.test(
  'what a gateway keeps of its start does not decide where later reads are allocated',
  async (t) => {
    const gateway = await startGateway({
      dataDir: dataDirOf(t),
      environment: { NODE_OPTIONS: inspectorOption },
    });
    t.teardown(() => gateway.kill());
    const { socket } = await GarbageCollector.open(gateway.log);
    const params = { expression: flagsTag, includeCommandLineAPI: true };
    socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params }));
    const [answer] = (await once(socket, 'message')) as [Buffer];
    socket.terminate();
    const tag = tagWith('--no-allocation-site-pretenuring');
    t.not(tag, tagWith(), 'Node knows the flag');
    t.match(JSON.parse(answer.toString()), { result: { result: { value: tag } } });
  },
);
