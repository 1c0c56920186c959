import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import test from 'ava';
import { every, settledWithin } from './life.ts';

test('settledWithin distinguishes work that settles in time from work that does not', async (t) => {
  t.true(await settledWithin(Promise.resolve(), 1000));
  t.true(await settledWithin(Promise.reject(new Error('failed')), 1000));
  t.false(await settledWithin(new Promise(() => undefined), 5));
});

test('a task is not called while it still runs, and disposal waits for it', async (t) => {
  const begun = Promise.withResolvers<undefined>();
  const release = Promise.withResolvers<undefined>();
  let starts = 0;
  let ended = false;
  const task = async (): Promise<void> => {
    starts += 1;
    begun.resolve(undefined);
    await release.promise;
    ended = true;
  };
  const clock = every(1, task, (error) => t.fail(String(error)));
  await begun.promise;
  // Long enough for the clock to have struck again, many times over.
  await new Promise((resolve) => setTimeout(resolve, 20));
  const disposed = clock[Symbol.asyncDispose]();
  release.resolve(undefined);
  await disposed;
  t.true(ended);
  t.is(starts, 1);
});

test('a task that fails is reported and tried again', async (t) => {
  const again = Promise.withResolvers<undefined>();
  const errors: unknown[] = [];
  await using _clock = every(
    1,
    () => {
      throw new Error('once more');
    },
    (error) => {
      errors.push(error);
      if (errors.length === 2) again.resolve(undefined);
    },
  );
  const keepAlive = setInterval(() => undefined, 1000);
  t.teardown(() => {
    clearInterval(keepAlive);
  });
  await again.promise;
  t.regex(String(errors[0]), /once more/);
});

test('the first SIGTERM aborts the signal and lets the process end by itself', async (t) => {
  const child = await spawnWaiting('process.exitCode = 7; clearInterval(alive);');
  child.kill('SIGTERM');
  const output = once(child.stdout, 'data');
  t.is(String(await output), 'SIGTERM asks the process to stop');
  t.deepEqual(await once(child, 'exit'), [7, null]);
});

test('a second signal ends the process at once', async (t) => {
  const child = await spawnWaiting('');
  child.kill('SIGINT');
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  t.deepEqual(await once(child, 'exit'), [null, 'SIGINT']);
});

/** A process that prints `ready`, waits for a signal, prints the reason of the abort, then runs `after`. */
async function spawnWaiting(after: string): Promise<ChildProcessByStdio<null, Readable, null>> {
  const life = new URL('./life.ts', import.meta.url).href;
  const source = `import { stopSignal } from '${life}';
    const alive = setInterval(() => {}, 1000);
    const signal = stopSignal();
    process.stdout.write('ready');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    process.stdout.write(signal.reason.message);
    ${after}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}
