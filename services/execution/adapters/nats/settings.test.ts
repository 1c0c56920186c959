import test from 'ava';
import { ConfigError, printable, readEnv } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import { natsSettings, toNatsOptions } from './settings.ts';

const silentLog = createLog('test', 'silent');

const parts = { name: 'execution', retention: 3600, leaseMs: 6000, log: silentLog };

test('what is not set has its usual value, and nothing is sent that was not given', (t) => {
  const values = readEnv(natsSettings, { NATS_URL: 'nats://one:4222' });
  const options = toNatsOptions({ ...parts, values });
  t.like(options, { url: 'nats://one:4222', replicas: 1, eventsMaxAgeMs: 7_200_000, settleMs: 6000, strict: false });
  t.deepEqual(options.monitorUrls, []);
  t.is(options.token, undefined);
});

test('a NATS must be named', (t) => {
  t.regex(t.throws(() => readEnv(natsSettings, {}), { instanceOf: ConfigError }).message, /NATS_URL/);
});

test('an address of NATS with another scheme is refused by its name, and nothing else of it is printed', (t) => {
  const refusalOf = (url: string): string =>
    t.throws(() => readEnv(natsSettings, { NATS_URL: url }), { instanceOf: ConfigError }).message;
  t.is(
    refusalOf('nats://one, http://ada:lovelace@two:4222'),
    'NATS_URL must be addresses with nats:// or tls://, and not http://, not (hidden)',
  );
  for (const url of ['ada:lovelace@one', 'nats://', 'one,,two', 'nats:lovelace://one'])
    t.is(refusalOf(url), 'NATS_URL must be addresses with nats:// or tls://, not (hidden)', url);
  for (const url of ['nats://ada:lovelace@one:4222, tls://two', 'one:4222, two'])
    t.notThrows(() => readEnv(natsSettings, { NATS_URL: url }));
});

test('addresses and tokens are not printed', (t) => {
  const values = readEnv(natsSettings, { NATS_URL: 'nats://ada:lovelace@one', NATS_TOKEN: 'babbage' });
  t.notRegex(JSON.stringify(printable(natsSettings, values)), /lovelace|babbage/);
});

test('a prefix that could not stand in a subject is refused', (t) => {
  for (const prefix of ['a.b', 'a b', '*', '>']) {
    const values = readEnv(natsSettings, { NATS_URL: 'nats://one', NATS_PREFIX: prefix });
    t.regex(t.throws(() => toNatsOptions({ ...parts, values }), { instanceOf: ConfigError }).message, /NATS_PREFIX/);
  }
});

test('replies go to the inboxes of the agents of a pool, unless a prefix is set that begins as inboxes do', (t) => {
  const inboxOf = (env: Readonly<Record<string, string>>, agents?: readonly string[]): string | undefined =>
    toNatsOptions({
      ...{ ...parts, values: readEnv(natsSettings, { NATS_URL: 'nats://one', ...env }) },
      pool: agents && { agents },
    }).inboxPrefix;
  t.is(inboxOf({}), undefined);
  t.is(inboxOf({}, ['default']), '_INBOX_37a8eec1');
  t.is(inboxOf({}, ['support', 'billing']), inboxOf({}, ['billing', 'support']));
  t.is(inboxOf({ NATS_INBOX_PREFIX: '_INBOX_team.a' }, ['default']), '_INBOX_team.a');
  for (const prefix of ['events', '_INBOX.>', '_INBOX.*', '_INBOX..a', '_INBOX.a b'])
    t.throws(() => inboxOf({ NATS_INBOX_PREFIX: prefix }), { message: /NATS_INBOX_PREFIX/ });
  for (const prefix of ['_INBOX', '_INBOX.team', '_INBOX_8ed3f6ad', '_INBOX_8ed3f6ad.a'])
    t.throws(() => inboxOf({ NATS_INBOX_PREFIX: prefix }, ['default']), { instanceOf: ConfigError });
  t.is(inboxOf({ NATS_INBOX_PREFIX: '_INBOX_37a8eec1' }, ['default']), '_INBOX_37a8eec1');
});

test('events that would go before their retention is over are refused', (t) => {
  const values = readEnv(natsSettings, { NATS_URL: 'nats://one', EVENTS_MAX_AGE: '60' });
  t.regex(
    t.throws(() => toNatsOptions({ ...parts, values }), { instanceOf: ConfigError }).message,
    /EVENTS_MAX_AGE must be at least EVENTS_RETENTION \(3600\), not 60/,
  );
});
