import type { ExecutionContext, TestFn } from 'ava';
import type { WorkerLeases } from '@agent-workflow/execution/ports/port';

/** Leases as two replicas see them; disposed of together. */
export interface SharedLeases extends AsyncDisposable {
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

  check('a worker that nobody has heard of is not held to be alive', async (t, { here, there }) => {
    t.false(await here.isHeld('w1'));
    t.false(await there.isHeld('w1'));
  });

  check('a worker that renewed its lease lives, for every replica and for itself', async (t, { here, there }) => {
    await here.renew('w1', long);
    t.true(await here.isHeld('w1'));
    t.true(await there.isHeld('w1'));
    t.false(await there.isHeld('w2'));
  });

  check('a lease that is not renewed runs out, for every replica, and not before its time', async (t, leases) => {
    const before = performance.now();
    await leases.here.renew('w1', short);
    for (const each of [leases.there, leases.here]) {
      await until(async () => !(await each.isHeld('w1')));
      t.true(performance.now() - before >= short);
    }
  });

  check('a lease that is renewed again and again does not run out', async (t, { here, there }) => {
    const end = performance.now() + 3 * short;
    while (performance.now() < end) {
      await here.renew('w1', short);
      t.true(await there.isHeld('w1'));
    }
  });

  check('a lease may be renewed for another time than before, and the last word holds', async (t, { here, there }) => {
    await here.renew('w1', short);
    await here.renew('w1', long);
    await here.renew('w2', long);
    await here.renew('w2', short);
    await until(async () => !(await there.isHeld('w2')));
    t.true(await there.isHeld('w1'));
  });

  check('a lease that is given up is gone at once, for every replica, and no other with it', async (t, leases) => {
    const { here, there } = leases;
    await Promise.all(['w1', 'w2'].map((worker) => here.renew(worker, long)));
    t.true(await there.isHeld('w1'));
    await here.release('w1');
    t.false(await here.isHeld('w1'));
    t.false(await there.isHeld('w1'));
    t.true(await there.isHeld('w2'));
  });

  check('a lease that nobody holds can be given up, and a lost one taken again', async (t, { here, there }) => {
    await here.release('w1');
    t.false(await there.isHeld('w1'));
    await here.renew('w1', short);
    await until(async () => !(await there.isHeld('w1')));
    await here.renew('w1', long);
    t.true(await there.isHeld('w1'));
  });

  check('many workers are told apart', async (t, { here, there }) => {
    const workers = Array.from({ length: 50 }, (_, index) => `w${String(index)}`);
    await Promise.all(workers.map((worker) => here.renew(worker, long)));
    await Promise.all(workers.filter((_, index) => index % 2 === 0).map((worker) => there.release(worker)));
    for (const [index, worker] of workers.entries()) t.is(await here.isHeld(worker), index % 2 === 1);
  });
}

/** Lives longer than a test, in milliseconds. */
const long = 60_000;
/** Runs out while a test waits; long enough that a busy machine does not lose it between two calls. */
const short = 800;

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}
