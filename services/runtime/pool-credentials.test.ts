import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { invalid, ServiceError } from '@agent-workflow/kit/errors';
import { readEnv } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import test, { type ExecutionContext } from 'ava';
import { memoryBudgetSettings } from './memory-budget.ts';
import { grantSecretsOf, openPoolCredentials, poolSettings } from './pool-credentials.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const billing = { pool: 'billing', sha256: sha256('token of billing'), agents: ['billing', 'refunds'] };

async function fileWith(t: ExecutionContext, content: unknown): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'pools-'));
  t.teardown(async () => rm(folder, { recursive: true }));
  const path = join(folder, 'pools.json');
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const log = createLog('test', 'silent');
const valuesWith = (path: string | undefined, env: Readonly<Record<string, string>> = {}) => ({
  ...readEnv({ ...poolSettings, ...memoryBudgetSettings }, env),
  POOL_CREDENTIALS: path,
  SERVICE_TOKEN: ['of the platform'],
});
const uncounted = { count: () => undefined, countLimited: () => undefined };

const openFile = (path: string | undefined, refreshMs = 60_000, errors: unknown[] = []) =>
  openPoolCredentials({
    ...uncounted,
    values: valuesWith(path),
    log: Object.assign(createLog('test', 'silent'), { error: (line: unknown) => void errors.push(line) }),
    refreshMs,
  });

test('a pool is known by its token, with its agents', async (t) => {
  await using credentials = openFile(await fileWith(t, [billing]));
  const pool = credentials?.poolOf(sha256('token of billing'));
  t.is(pool?.name, 'billing');
  t.deepEqual([...(pool?.agents ?? [])], ['billing', 'refunds']);
  t.is(credentials?.poolOf(sha256('another')), undefined);
  t.is(openFile(undefined), undefined);
});

test('every entry that does not hold is named at the start', async (t) => {
  const entries = [
    billing,
    { ...billing, sha256: 'none' },
    { ...billing, pool: '' },
    { ...billing, pool: 'copy' },
    { ...billing, pool: 'ours', sha256: sha256('of the platform') },
    { ...billing, pool: 'idle', sha256: sha256('idle'), agents: [] },
    { ...billing, pool: 'nothing', sha256: sha256(''), agents: ['nothing'] },
    { ...billing, pool: 'thief', sha256: sha256('thief'), agents: ['own', 'refunds'] },
    { ...billing, pool: 'wordy', sha256: sha256('wordy'), agents: ['wordy'], agent: 'x' },
    'billing',
    null,
  ];
  const path = await fileWith(t, entries);
  const { message } = t.throws(() => openFile(path), { name: 'ConfigError' });
  t.deepEqual(message.split('\n'), [
    'POOL_CREDENTIALS: entry 2 ("billing"): sha256 must be 64 hexadecimal digits',
    'POOL_CREDENTIALS: entry 3 (""): pool must be 1 to 63 of a-z, A-Z, 0-9, . _ and -',
    'POOL_CREDENTIALS: entry 4 ("copy"): another entry has the same token',
    'POOL_CREDENTIALS: entry 5 ("ours"): its token is SERVICE_TOKEN',
    'POOL_CREDENTIALS: entry 6 ("idle"): agents must be a list of 1 to 100 names of agents',
    'POOL_CREDENTIALS: entry 7 ("nothing"): sha256 is that of an empty token',
    'POOL_CREDENTIALS: entry 8 ("thief"): the agent "refunds" is of the pool "billing" already',
    'POOL_CREDENTIALS: entry 9 ("wordy"): has "agent", and may have only pool, sha256 and agents',
    'POOL_CREDENTIALS: entry 10: pool must be 1 to 63 of a-z, A-Z, 0-9, . _ and -',
    'POOL_CREDENTIALS: entry 11: pool must be 1 to 63 of a-z, A-Z, 0-9, . _ and -',
  ]);
});

test('a file that is none, or too large, stops the start without its content in the message', async (t) => {
  for (const content of ['secret {', '{}', ' '.repeat(300_000)]) {
    const path = await fileWith(t, content);
    const error = t.throws(() => openFile(path), { name: 'ConfigError' });
    t.false(error.message.includes('secret'));
  }
  t.throws(() => openFile('/nowhere/pools.json'), { name: 'ConfigError' });
});

test('the file is read again, and a broken one leaves the pools of before', async (t) => {
  const path = await fileWith(t, [billing]);
  const errors: unknown[] = [];
  await using credentials = openFile(path, 1, errors);
  const knows = (token: string): boolean => credentials?.poolOf(sha256(token)) !== undefined;
  await writeFile(path, 'broken');
  while (errors.length === 0) await turnOfLoop();
  t.true(knows('token of billing'));
  await writeFile(path, JSON.stringify([{ ...billing, sha256: sha256('new token') }]));
  while (!knows('new token')) await turnOfLoop();
  t.false(knows('token of billing'));
});

test('pools need a token of the platform, and a secret for grants', async (t) => {
  const path = await fileWith(t, [billing]);
  const values = { ...valuesWith(path), SERVICE_TOKEN: undefined };
  t.throws(() => openPoolCredentials({ ...uncounted, values, log }), {
    message: /SERVICE_TOKEN must be set/,
  });
  t.throws(() => grantSecretsOf({ POOL_CREDENTIALS: path, GRANT_SECRET: undefined, SERVICE_TOKEN: undefined }), {
    message: 'GRANT_SECRET must be set where POOL_CREDENTIALS is',
  });
  t.throws(() => grantSecretsOf({ POOL_CREDENTIALS: path, GRANT_SECRET: ['of all'], SERVICE_TOKEN: ['of all'] }), {
    message: 'GRANT_SECRET must be none of SERVICE_TOKEN, which workers have',
  });
  const none = { POOL_CREDENTIALS: undefined, GRANT_SECRET: undefined, SERVICE_TOKEN: undefined };
  t.is(grantSecretsOf(none), undefined);
});

test('of refusals of one kind one in a minute is logged, and each is counted', async (t) => {
  const lines: unknown[] = [];
  let counted = 0;
  await using credentials = openPoolCredentials({
    ...uncounted,
    values: valuesWith(await fileWith(t, [billing])),
    log: Object.assign(createLog('test', 'silent'), { warn: (line: unknown) => void lines.push(line) }),
    count: () => counted++,
  });
  const refusal = { pool: 'billing', method: 'threads.listThreads', reason: 'never', why: 'no pool may' } as const;
  for (let turn = 0; turn < 5; turn++) credentials?.onRefused(refusal);
  credentials?.onRefused({ ...refusal, method: 'threads.getThread' });
  t.is(counted, 6);
  t.deepEqual(lines, [refusal, { ...refusal, method: 'threads.getThread' }]);
});

test('of requests of a pool that do not fit one of a kind is logged, with its method and its fault', async (t) => {
  const lines: unknown[] = [];
  await using credentials = openPoolCredentials({
    ...uncounted,
    values: valuesWith(await fileWith(t, [billing])),
    log: Object.assign(createLog('test', 'silent'), { warn: (line: unknown) => void lines.push(line) }),
  });
  const misfit = (method: string, error: ServiceError): void =>
    credentials?.onMisfit({ pool: 'billing', method, error });
  const register = 'threads.registerRevision';
  for (let turn = 0; turn < 3; turn++) misfit(register, invalid(['definition', 'nodes'], 'has 900 names'));
  misfit(register, invalid(['definition', 'fieldsJson', 'title', 'type'], 'must be a type'));
  misfit(register, invalid(['definition', 'fieldsJson', 'other', 'type'], 'must be a type'));
  misfit(register, invalid([], 'is none'));
  const commit = 'threads.commitStep';
  for (let turn = 0; turn < 3; turn++) misfit(commit, invalid(['fields', `name ${String(turn)}`], 'x'.repeat(1000)));
  for (let turn = 0; turn < 3; turn++) misfit(commit, invalid(['messages', turn, 'json'], 'must be JSON'));
  misfit(commit, new ServiceError('TooLarge', 'the reply is too large'));
  const line = (method: string, why: string, code = 'Invalid') => ({ pool: 'billing', method, code, why });
  t.deepEqual(lines, [
    line(register, 'definition.nodes: has 900 names'),
    line(register, 'definition.fieldsJson.title.type: must be a type'),
    line(register, 'is none'),
    line(commit, `fields.name 0: ${'x'.repeat(485)}`),
    line(commit, 'messages.0.json: must be JSON'),
    line(commit, 'the reply is too large', 'TooLarge'),
  ]);
});

test('while the token of a pool is changed, two entries have its name and its agents', async (t) => {
  const path = await fileWith(t, [billing, { ...billing, sha256: sha256('new token') }]);
  await using credentials = openFile(path);
  for (const token of ['token of billing', 'new token'])
    t.is(credentials?.poolOf(sha256(token))?.name, 'billing', token);
});

test('the bounds of a pool are those of the settings, and bytes without one are a share of the memory', async (t) => {
  const path = await fileWith(t, [billing]);
  const boundsWith = async (env: Readonly<Record<string, string>>) => {
    await using credentials = openPoolCredentials({ ...uncounted, values: valuesWith(path, env), log });
    return credentials?.limiting.bounds;
  };
  const MiB = 1024 * 1024;
  const usual = { calls: 10_000, callsPerSecond: 10_000 };
  t.deepEqual(await boundsWith({ MEMORY_BUDGET_MB: '1024' }), { ...usual, bytes: 128 * MiB });
  t.deepEqual(await boundsWith({ MEMORY_BUDGET_MB: '256' }), { ...usual, bytes: 64 * MiB });
  const set = { POOL_CALLS_IN_FLIGHT: '5', POOL_CALLS_PER_SECOND: '6', POOL_IN_FLIGHT_MB: '7' };
  t.deepEqual(await boundsWith(set), { calls: 5, callsPerSecond: 6, bytes: 7 * MiB });
  t.throws(() => valuesWith(path, { POOL_CALLS_IN_FLIGHT: '0' }), { message: /POOL_CALLS_IN_FLIGHT/ });
});

test('of calls that are refused for now one of a pool and a bound is logged in a minute, with its setting if it has one, and each is counted', async (t) => {
  const lines: unknown[] = [];
  const counted: string[] = [];
  await using credentials = openPoolCredentials({
    ...uncounted,
    values: valuesWith(await fileWith(t, [billing])),
    log: Object.assign(createLog('test', 'silent'), { warn: (line: unknown) => void lines.push(line) }),
    countLimited: (bound) => counted.push(bound),
  });
  for (const pool of ['billing', 'support'])
    for (let turn = 0; turn < 3; turn++) credentials?.limiting.onLimited({ pool, bound: 'calls', most: 9 });
  credentials?.limiting.onLimited({ pool: 'billing', bound: 'bytes', most: 5 });
  credentials?.limiting.onLimited({ pool: 'billing', bound: 'connections', most: 1000 });
  t.is(counted.length, 8);
  t.deepEqual(lines, [
    { pool: 'billing', setting: 'POOL_CALLS_IN_FLIGHT', most: 9 },
    { pool: 'support', setting: 'POOL_CALLS_IN_FLIGHT', most: 9 },
    { pool: 'billing', setting: 'POOL_IN_FLIGHT_MB', most: 5 },
    { pool: 'billing', bound: 'connections', most: 1000 },
  ]);
});
