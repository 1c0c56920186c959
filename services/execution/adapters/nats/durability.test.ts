import test from 'ava';
import { ConfigError } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import { checkDurability, checkVersion } from './durability.ts';

const silentLog = createLog('test', 'silent');

for (const version of ['2.12.7', '2.12.10', '2.13.0', '2.15.2', '3.0.0', '2.14.0-RC.1'])
  test(`a server of version ${version} will do`, (t) => t.notThrows(() => checkVersion(version)));

for (const version of ['2.9.10', '2.12.6', '1.99.99', ''])
  test(`a server of version "${version}" is too old`, (t) => {
    t.regex(t.throws(() => checkVersion(version), { instanceOf: ConfigError }).message, /older than 2\.12\.7/);
  });

const kept = { version: '2.15.2', replicas: 3, syncIntervalMs: 0 };

test('strict accepts three replicas on disks that are synced with each write, and nothing less', (t) => {
  t.notThrows(() => checkDurability(silentLog, kept, true));
  const refused = (durability: Partial<typeof kept> | { readonly syncIntervalMs: undefined }): string =>
    t.throws(() => checkDurability(silentLog, { ...kept, ...durability }, true), { instanceOf: ConfigError }).message;
  t.regex(refused({ replicas: 1 }), /NATS_REPLICAS is 1, fewer than 3/);
  t.regex(refused({ syncIntervalMs: 120_000 }), /every 120000 ms/);
  t.regex(refused({ syncIntervalMs: undefined }), /NATS_MONITOR_URL/);
  t.is(refused({ replicas: 1, syncIntervalMs: 1000 }).split('\n').length, 2);
});

test('without strict a missing promise is only logged', (t) => {
  t.notThrows(() => checkDurability(silentLog, { version: '2.15.2', replicas: 1, syncIntervalMs: undefined }, false));
});
