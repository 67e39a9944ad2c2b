import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Subject } from '../../src/doctor/check.js';
import { checkConfigAccess } from '../../src/doctor/config-access.js';
import { checkPermissions } from '../../src/doctor/permissions.js';
import { loadSettings } from '../../src/settings.js';
import { directoryOfNobody, nobody, noOtherOwner } from '../support/other-user.js';

t.test(
  'a config file that the gateway’s user cannot read is a problem, with its remedy',
  { skip: noOtherOwner() },
  async (t) => {
    const { folder, dataDir } = directoryOfNobody(t);
    chmodSync(folder, 0o755);
    const directory = join(folder, 'etc');
    const configFile = join(directory, 'config.json');
    mkdirSync(directory, { mode: 0o750 });
    writeFileSync(configFile, '{}', { mode: 0o640 });
    const check = (file: string | undefined) =>
      checkConfigAccess({ settings: { dataDir }, configFile: file } as Subject);
    const remedy = `Let its group read it: "chgrp ${nobody} ${directory} ${configFile}", "chmod 750 ${directory}" and "chmod 640 ${configFile}".`;
    t.match(await check(configFile), [{ check: 'config', level: 'problem', remedy }]);
    chownSync(directory, 0, nobody);
    t.match(
      await check(configFile),
      [
        {
          level: 'problem',
          remedy: `Let its group read it: "chgrp ${nobody} ${configFile}" and "chmod 640 ${configFile}".`,
        },
      ],
      'a directory that can be entered, such as /etc, stays as it is',
    );
    chownSync(configFile, 0, nobody);
    t.match(await check(configFile), [{ level: 'ok' }]);
    chmodSync(folder, 0o700);
    chownSync(folder, 0, 0);
    t.match(
      await check(configFile),
      [
        {
          level: 'problem',
          message: new RegExp(
            `user ${nobody}\\) cannot reach .*: ${folder} is closed to that user`,
          ),
          remedy: /^Move it/,
        },
      ],
      'a directory further above is named, and not opened to others',
    );
    t.same(await check(undefined), [], 'without a config file there is nothing to say');
    t.equal(process.geteuid?.(), 0, 'and the command has its own rights again');
  },
);

t.test(
  'a file of TLS that the gateway’s user cannot read is told of, and one that its group reads is well',
  { skip: noOtherOwner() },
  async (t) => {
    const { folder, dataDir } = directoryOfNobody(t);
    chmodSync(folder, 0o755);
    const [tlsCert, tlsKey] = [join(folder, 'cert.pem'), join(folder, 'key.pem')] as const;
    writeFileSync(tlsCert, '', { mode: 0o644 });
    writeFileSync(tlsKey, '', { mode: 0o600 });
    const subject = { settings: { dataDir, tlsCert, tlsKey } } as Subject;
    const remedy = `Let its group read it: "chgrp ${nobody} ${tlsKey}" and "chmod 640 ${tlsKey}". Leave it as it is if the unit hands it to the gateway with LoadCredential.`;
    t.match(await checkConfigAccess(subject), [
      { level: 'ok' },
      { check: 'tls', level: 'warning', remedy },
    ]);
    chownSync(tlsKey, 0, nobody);
    chmodSync(tlsKey, 0o640);
    t.match(await checkConfigAccess(subject), [{ level: 'ok' }, { level: 'ok' }]);
    t.match(await checkPermissions(subject), [{ level: 'ok' }], 'as that remedy has left it');
    chmodSync(tlsKey, 0o644);
    t.match(await checkPermissions(subject), [{ level: 'problem', remedy: /chmod 640/ }]);
    chownSync(tlsKey, nobody, nobody);
    chmodSync(tlsKey, 0o640);
    t.match(await checkPermissions(subject), [{ level: 'problem', remedy: /chmod 600/ }]);
  },
);

t.test('a gateway that cannot read it says which rights are missing', async (t) => {
  const settings = loadSettings({
    flags: { config: '/etc/signalbox/config.json' },
    environment: {},
    readFile: () => {
      throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
    },
  });
  t.match(settings, [
    {
      setting: 'config',
      message:
        /config\.json cannot be read by this user.*mode 640, and 750 for a directory of its own/,
    },
  ]);
});
