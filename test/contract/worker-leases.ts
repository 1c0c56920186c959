import type { ExecutionContext, TestFn } from 'ava';
import type { WorkerLeases } from '@agent-workflow/execution/ports/leases';

/** Leases as two replicas see them; disposed of together. */
interface SharedLeases extends AsyncDisposable {
  readonly here: WorkerLeases;
  readonly there: WorkerLeases;
}

/** What leases of workers must promise. `open` gives empty ones each time, as two replicas have them. */
export function workerLeasesContract(test: TestFn, name: string, open: () => Promise<SharedLeases>): void {
  const check = (title: string, body: (t: ExecutionContext, leases: SharedLeases) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      await using leases = await open();
      await body(t, leases);
    });
  };

  check('an unknown worker is not alive', async (t, { here, there }) => {
    t.false(await here.isAlive('w1'));
    t.false(await there.isAlive('w1'));
  });

  check('a worker that renewed its lease is alive, for every replica and for itself', async (t, { here, there }) => {
    await here.renew('w1', long);
    t.true(await here.isAlive('w1'));
    t.true(await there.isAlive('w1'));
    t.false(await there.isAlive('w2'));
  });

  check('a lease that is not renewed expires, for every replica, and not before its time', async (t, leases) => {
    const before = performance.now();
    await leases.here.renew('w1', short);
    for (const each of [leases.there, leases.here]) {
      await until(async () => !(await each.isAlive('w1')));
      t.true(performance.now() - before >= short);
    }
  });

  check('a lease that is renewed again and again does not expire', async (t, { here, there }) => {
    const end = performance.now() + 3 * short;
    while (performance.now() < end) {
      await here.renew('w1', short);
      t.true(await there.isAlive('w1'));
    }
  });

  check(
    'a lease may be renewed for another time than before, and the last renewal holds',
    async (t, { here, there }) => {
      await here.renew('w1', short);
      await here.renew('w1', long);
      await here.renew('w2', long);
      await here.renew('w2', short);
      await until(async () => !(await there.isAlive('w2')));
      t.true(await there.isAlive('w1'));
    },
  );

  check('a released lease is gone at once, for every replica, and no other with it', async (t, leases) => {
    const { here, there } = leases;
    await Promise.all(['w1', 'w2'].map((worker) => here.renew(worker, long)));
    t.true(await there.isAlive('w1'));
    await here.release('w1');
    t.false(await here.isAlive('w1'));
    t.false(await there.isAlive('w1'));
    t.true(await there.isAlive('w2'));
  });

  check('a lease that is not held can be released, and an expired one renewed', async (t, { here, there }) => {
    await here.release('w1');
    t.false(await there.isAlive('w1'));
    await here.renew('w1', short);
    await until(async () => !(await there.isAlive('w1')));
    await here.renew('w1', long);
    t.true(await there.isAlive('w1'));
  });

  check('the workers that are known to live are those whose leases hold, for every replica', async (t, leases) => {
    const { here, there } = leases;
    await here.renew('w1', long);
    await here.renew('w2', short);
    for (const each of [here, there]) {
      await until(async () => each.living().size === 2);
      t.deepEqual([...each.living()].toSorted(), ['w1', 'w2']);
      await until(async () => !each.living().has('w2'));
      t.deepEqual([...each.living()], ['w1']);
      await here.renew('w2', short);
    }
    await here.release('w1');
    for (const each of [here, there]) await until(async () => !each.living().has('w1'));
    t.false(await there.isAlive('w1'));
  });

  check('what a worker drives is known to every replica that counts, while its lease holds', async (t, leases) => {
    const { here, there } = leases;
    const billing = { agent: 'billing', revisions: [{ revision: 'v1', runs: 3 }, { runs: 1 }] };
    const support = { agent: 'support', revisions: [{ revision: 'v1', runs: 2 }] };
    const shownTo = (each: WorkerLeases): readonly unknown[] =>
      each.driven().toSorted((a, b) => (a.agent + a.workerId < b.agent + b.workerId ? -1 : 1));
    await here.renew('w1', long);
    await here.renew('w2', short);
    here.showDriven('w1', [billing, support]);
    here.showDriven('w2', [support]);
    here.showDriven('dead', [billing]);
    // That of w2 is over then.
    for (const each of [here, there]) await until(async () => each.driven().length === 2 && !each.living().has('w2'));
    t.deepEqual(shownTo(there), [
      { ...billing, workerId: 'w1' },
      { ...support, workerId: 'w1' },
    ]);
    here.showDriven('w1', [{ agent: 'billing', revisions: [] }]);
    for (const each of [here, there])
      await until(async () =>
        each.driven().some(({ agent, revisions }) => agent === 'billing' && revisions.length === 0),
      );
    await here.release('w1');
    for (const each of [here, there]) await until(async () => each.driven().length === 0);
    t.deepEqual(shownTo(here), []);
  });

  check('each of many workers has a lease of its own', async (t, { here, there }) => {
    const workers = Array.from({ length: 50 }, (_, index) => `w${String(index)}`);
    await Promise.all(workers.map((worker) => here.renew(worker, long)));
    await Promise.all(workers.filter((_, index) => index % 2 === 0).map((worker) => there.release(worker)));
    for (const [index, worker] of workers.entries()) t.is(await here.isAlive(worker), index % 2 === 1);
  });
}

/** Lives longer than a test, in milliseconds. */
const long = 60_000;
/** Runs out while a test waits; long enough that a busy machine does not lose it between two calls. */
const short = 800;

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}
