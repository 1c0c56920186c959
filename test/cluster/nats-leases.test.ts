import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { openNatsControl } from '@agent-workflow/execution/adapters/nats/control';
import { openNatsWorkerLeases } from '@agent-workflow/execution/adapters/nats/leases';
import type { WorkerLeases } from '@agent-workflow/execution/ports/leases';
import { isServiceError } from '@agent-workflow/kit/errors';
import { joined, openPlace } from '../servers/nats-adapters.ts';
import { privateNats } from '../servers/nats.ts';
import { withServer } from '../servers/real-suite.ts';

/** Short, so that a test sees it out; a third of it is long beside what a busy machine holds a process up. */
const leaseMs = 1500;

withServer(test, privateNats(), () => {
  test.serial('a worker that dies is thought dead a lease after it was last heard of, not later', async (t) => {
    await using server = await privateNats().open();
    await using observer = await openLeases(server.url);
    const worker = await openLeases(server.url);
    await worker.renew('w1', leaseMs);
    t.true(await observer.isAlive('w1'));
    const died = performance.now();
    await worker[Symbol.asyncDispose]();
    while (await observer.isAlive('w1')) await pause(20);
    const after = performance.now() - died;
    t.true(after > leaseMs / 2 && after < leaseMs + 1000, String(after));
  });

  test.serial('a server that is unavailable for longer than a lease makes nobody dead who lives', async (t) => {
    await using server = await privateNats().open();
    await using observer = await openLeases(server.url);
    await using worker = await openLeases(server.url);
    await worker.renew('w1', leaseMs);
    t.true(await observer.isAlive('w1'));
    await server.kill();
    await pause(100);
    t.true(isServiceError(await t.throwsAsync(observer.isAlive('w1')), 'Unavailable'));
    t.true(isServiceError(await t.throwsAsync(worker.renew('w1', leaseMs)), 'Unavailable'));
    await pause(leaseMs);
    await server.restart();
    const asking = isHeldAfterReturn(observer);
    await pause(leaseMs / 3);
    await renewAfterReturn(worker);
    t.true(await asking);
    t.true(await observer.isAlive('w1'));
  });

  test.serial(
    'a replica that comes later hears at once who lives, and waits a lease before it takes anyone for dead',
    async (t) => {
      await using server = await privateNats().open();
      await using worker = await openLeases(server.url);
      await worker.renew('w1', 60_000);
      const started = performance.now();
      await using latecomer = await openLeases(server.url);
      t.true(await latecomer.isAlive('w1'));
      t.true(performance.now() - started < leaseMs);
      t.false(await latecomer.isAlive('w2'));
      t.true(performance.now() - started >= leaseMs);
    },
  );

  test.serial('a replica hears which run was stopped by another, and by itself', async (t) => {
    await using server = await privateNats().open();
    await using one = await openPlace(server.url, 'control');
    await using two = await openPlace(server.url, 'control');
    const controls = [one, two].map(({ client, streams }) =>
      openNatsControl({ client, prefix: streams.settings.prefix }),
    );
    const received: string[] = [];
    for (const [index, control] of controls.entries()) control.onStop((runId) => received.push(`${index} ${runId}`));
    await Promise.all([one, two].map(async ({ client }) => client.flush(1000)));
    controls[0]?.stop('r1');
    while (received.length < 2) await pause(5);
    t.deepEqual(received.toSorted(), ['0 r1', '1 r1']);
    for (const control of controls) await control[Symbol.asyncDispose]();
  });
});

async function openLeases(
  url: string,
  as: Pick<Parameters<typeof openNatsWorkerLeases>[0], 'token'> = {},
): Promise<WorkerLeases> {
  const place = await openPlace(url, 'leases');
  const { prefix } = place.streams.settings;
  return joined(await openNatsWorkerLeases({ client: place.client, prefix, leaseMs, ...as }), place);
}

async function isHeldAfterReturn(leases: WorkerLeases): Promise<boolean> {
  for (;;) {
    try {
      return await leases.isAlive('w1');
    } catch {
      await pause(20);
    }
  }
}

async function renewAfterReturn(leases: WorkerLeases): Promise<void> {
  for (;;) {
    try {
      await leases.renew('w1', leaseMs);
      return;
    } catch {
      await pause(20);
    }
  }
}
