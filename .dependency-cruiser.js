// Who may import whom, type imports included: no circles between files, and none between the rooms of src/.

/** The rooms of src/, lowest first. A room imports only from rooms in earlier rows. */
const layers = [
  ['lib', 'errors.ts', 'version.ts'],
  ['model', 'limits.ts', 'plans.ts', 'platforms.ts'],
  ['store', 'routes.ts'],
  ['auth', 'quota', 'client'],
  ['retention', 'events', 'settings', 'workers'],
  ['signals', 'settings.ts', 'http'],
  ['plugins', 'transfer'],
  ['telemetry', 'terminal'],
  ['core.ts', 'fix', 'conformance'],
  ['endpoints', 'demo'],
  ['openapi'],
  ['admin', 'stats'],
  ['doctor', 'gateway-store.ts'],
  ['gateway.ts'],
  ['main.ts'],
  ['cli'],
];

/** Rooms that are used outside the gateway, and so know even less of it. */
const only = {
  client: ['lib', 'model', 'errors.ts', 'limits.ts'],
  terminal: ['lib', 'model', 'limits.ts', 'platforms.ts', 'plugins', 'events'],
  conformance: ['lib', 'model', 'plugins'],
  fix: ['lib', 'model', 'limits.ts', 'version.ts', 'plugins', 'events', 'terminal'],
};

/** Packages that only one file may know, so that changing one touches one place. */
const packageHomes = {
  'uWebSockets[.]js': 'src/http/uws.ts',
  lmdb: 'src/store/lmdb-index.ts',
  piscina: 'src/workers/hash-pool.ts',
  'prom-client': 'src/telemetry/metrics.ts',
  koffi: 'src/(?:http/socket-bounds|telemetry/sd-notify).ts',
};

const pathOf = (room) => `^src/${room.replace('.', '[.]')}${room.includes('.') ? '$' : '/'}`;
const anyOf = (rooms) => rooms.map(pathOf);

export default {
  forbidden: [
    { name: 'no-circle', severity: 'error', from: {}, to: { circular: true } },
    ...layers.flatMap((layer, row) =>
      layer.map((room) => ({
        name: `${room}-imports-from-below`,
        severity: 'error',
        from: { path: pathOf(room) },
        to: { path: anyOf(layers.slice(row).flat()), pathNot: pathOf(room) },
      })),
    ),
    ...Object.entries(only).map(([room, allowed]) => ({
      name: `${room}-knows-little`,
      severity: 'error',
      from: { path: pathOf(room) },
      to: { path: '^src/', pathNot: anyOf([room, ...allowed]) },
    })),
    ...Object.entries(packageHomes).map(([name, home]) => ({
      name: `${home.replace(/.*[/]/, '')}-alone-knows-${name}`,
      severity: 'error',
      from: { path: '^src/', pathNot: `^${home}$` },
      to: { path: `node_modules/${name}/`, dependencyTypesNot: ['type-only'] },
    })),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
  },
};
