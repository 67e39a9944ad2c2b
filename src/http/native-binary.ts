/**
 * Tells which native server this process runs: others have built the binary, so its SHA-256 is compared with
 * those that were tested. native-notes/binary.md tells where they come from, and how to take others.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import './uws.js';

/** SHA-256 by the end of the path: of @uwsjs 20.51.4, and of uws-pack 20.0.8 where that serves. */
// oxfmt-ignore
export const knownBinaries: Readonly<Record<string, string>> = {
  '@uwsjs/linux-x64-20/uws.node':  '4d482084b665c225892917ee0e9b9572d89eaa6f3dc200ff5e536293d3456c89',
  '@uwsjs/linux-x64-22/uws.node':  'f687e7c3666b5cca9d355184bbf07bb0550f5ba0d3ffd453248ccfec552dde6c',
  'bin/uws_linux_x64_115.node':    '6f8d96d761a64beddb060f1f7f0e617dd293ed127ec1d57507aa561a0083171e',
  'bin/uws_linux_x64_127.node':    '8cabc918bbf9a07323e54f89a33882491080b2eb35df0607f473ccdb1f3c31af',
  'bin/uws_linux_arm64_115.node':  'c0e29fc143b46b584f3debec7910014ec228198fc1f17aaeacd1de7991bd3769',
  'bin/uws_linux_arm64_127.node':  'd4c4f8b2c28c5f6544b49e36d91b0beee238a5b90a07904a947f77061c8b814d',
  'bin/uws_darwin_x64_115.node':   '1f2a5c73d9dc3066d39b675b73f2c50eddbc4f270d292a6126ddfe3757c54cf9',
  'bin/uws_darwin_x64_127.node':   'afd992dc1ca1e33cdc7ce0c72a60baf236e590a257fcecbbbce7bc1a35451387',
  'bin/uws_darwin_arm64_115.node': '5d523bccbe80d3d8fa59422ff81801b8179212b9a8a5da28bff6926a95a65701',
  'bin/uws_darwin_arm64_127.node': 'abbeea53d48e21c01808203e9f9835728f2cea720d2e5b154837ee3045b513be',
};

export interface NativeBinary {
  /** '' when Node does not tell which file it has loaded. */
  readonly path: string;
  /** Lower-case hex; '' without a path. */
  readonly sha256: string;
  /** Whether the file is, byte for byte, the one of this name that was tested. */
  readonly isKnown: boolean;
}

/** Reads some megabytes: for the start and for diagnosis. */
export function checkNativeBinary(path: string = loadedBinary()): NativeBinary {
  if (path === '') return { path, sha256: '', isKnown: false };
  const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex');
  const name = Object.keys(knownBinaries).find((name) => path.endsWith(`/${name}`));
  return { path, sha256, isKnown: name !== undefined && knownBinaries[name] === sha256 };
}

/** Looks in Node's cache of modules, because a package's layout may change with its version. */
function loadedBinary(): string {
  const { platform, arch, versions } = process;
  const names = ['uws.node', `uws_${platform}_${arch}_${versions.modules}.node`];
  const { cache } = createRequire(import.meta.url);
  return Object.keys(cache).find((path) => names.includes(basename(path))) ?? '';
}
