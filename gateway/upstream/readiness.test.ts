import test from 'ava';
import { notFound, ServiceError, timeout, unavailable } from '@agent-workflow/kit/errors';
import { createHealth } from '@agent-workflow/runtime/health';
import { createLog } from '@agent-workflow/kit/log';
import { createReadinessCheck, watchReadiness } from './readiness.ts';

const silentLog = createLog('test', 'silent');

type Remote = NonNullable<Parameters<typeof createReadinessCheck>[0]['remote']>;

const threads = { listOpenRuns: () => Promise.resolve({ runs: [] }) };
const memory: Remote['memory'] = { get: () => Promise.reject(notFound('there is no such memory')) };
const nats = { name: 'nats', reason: 'it is unavailable' };

/** What a gateway names as degraded in front of this execution service. */
const degradedWith = async (getHealth: Remote['execution']['getHealth']): Promise<unknown> =>
  createReadinessCheck({
    threads,
    health: createHealth(silentLog),
    files: { check: () => Promise.resolve() },
    remote: { execution: { getHealth }, memory },
  }).check();

test('what the execution service has lost is named beside what the gateway has lost', async (t) => {
  t.deepEqual(await degradedWith(() => Promise.resolve({ degraded: [] })), []);
  t.deepEqual(await degradedWith(() => Promise.resolve({ degraded: [nats] })), [nats]);
});

test('an execution service that does not answer is itself what is named', async (t) => {
  t.deepEqual(await degradedWith(() => Promise.reject(unavailable('a needed service is unavailable'))), [
    { name: 'execution', reason: 'it is unavailable' },
  ]);
});

test('a record that cannot be read is the refusal, in the words of the log, whatever the reason; in one process also while reads of it work', async (t) => {
  for (const [error, words] of [
    [unavailable('away'), 'it is unavailable'],
    [timeout('late'), 'it does not answer in time'],
    [new ServiceError('StorageFailed', 'the store failed'), 'it fails'],
    [new TypeError('of ours'), 'it fails'],
  ] as const) {
    const health = createHealth(silentLog);
    const readiness = createReadinessCheck({
      threads: { listOpenRuns: () => Promise.reject(error) },
      health,
      files: { check: () => Promise.resolve() },
    });
    await t.throwsAsync(readiness.check(), { code: 'Unavailable', message: `record: ${words}` });
    t.deepEqual(health.degraded(), [{ name: 'record', reason: words }]);
  }
  const health = createHealth(silentLog);
  const readiness = createReadinessCheck({ threads, health, files: { check: () => Promise.resolve() } });
  const file = health.part('record');
  file.fails('it cannot be written: the disk is full', unavailable('full'), 'reading');
  t.deepEqual(await readiness.check(), [{ name: 'record', reason: 'it cannot be written: the disk is full' }]);
  file.fails('it cannot be read: the file is damaged', unavailable('damaged'));
  await t.throwsAsync(readiness.check(), { message: 'record: it cannot be read: the file is damaged' });
});

/** What a process names as degraded whose store of files does so. */
const degradedFiles = async (check: (signal: AbortSignal) => Promise<void>): Promise<unknown> =>
  createReadinessCheck({ threads, health: createHealth(silentLog), files: { check } }).check();

test('a store of files that is unavailable, or does not answer, is named, and changes nothing else', async (t) => {
  t.deepEqual(await degradedFiles(() => Promise.resolve()), []);
  t.deepEqual(await degradedFiles(() => Promise.reject(unavailable('away'))), [
    { name: 'files', reason: 'it is unavailable' },
  ]);
  const silent = (signal: AbortSignal): Promise<void> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  t.deepEqual(await degradedFiles(silent), [{ name: 'files', reason: 'it does not answer in time' }]);
});

test('what fails, and that it works again, is known although nobody asks', async (t) => {
  let isAway = true;
  let onCheck = (): void => undefined;
  const check = (): Promise<void> => {
    onCheck();
    return isAway ? Promise.reject(unavailable('away')) : Promise.resolve();
  };
  const health = createHealth(silentLog);
  // Each has a check of its own, because the result of one is good for a second.
  const readiness = () => createReadinessCheck({ threads, health, files: { check } }).check();
  await using _watching = watchReadiness({ check: readiness }, 1);
  const checkedAgain = async (): Promise<void> => {
    for (let times = 0; times < 3; times++) await new Promise<void>((resolve) => (onCheck = resolve));
  };
  await checkedAgain();
  t.deepEqual(health.degraded(), [{ name: 'files', reason: 'it is unavailable' }]);
  isAway = false;
  await checkedAgain();
  t.deepEqual(health.degraded(), []);
});
