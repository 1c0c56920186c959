import type { ExecutionContext, TestFn } from 'ava';
import fc from 'fast-check';
import { never } from '@agent-workflow/protos/call';
import type { HeldAgents, RunnableRun, RunQueue } from '@agent-workflow/execution/ports/queue';

/** Names of owners. */
type Owners = readonly [string, string, string, string];

interface RunQueuePlaces {
  /** Gives an empty queue each time. */
  readonly open: () => Promise<RunQueue>;
  /** Owners of whom none shares its turns with another; any do, unless set. */
  readonly apart?: Owners;
}

/** How many runs may be taken before one of an owner who has no other: far fewer than others may have waiting. */
const longestWait = 200;

/** What any queue of runnable runs must promise. */
export function runQueueContract(test: TestFn, name: string, { open, apart = four }: RunQueuePlaces): void {
  const [ada, bob, cyd] = apart;
  const check = (title: string, body: (t: ExecutionContext, queue: RunQueue) => Promise<void>): void => {
    test(`${name}: ${title}`, async (t) => {
      await using queue = await open();
      await body(t, queue);
    });
  };

  check('a run is taken as it was put', async (t, queue) => {
    await queue.enqueue(run('u:ada', 'r1'));
    t.deepEqual((await queue.take(unnamed, never)).run, run('u:ada', 'r1'));
    await queue.enqueue({ ...run('u:ada', 'r2'), takeoverEpoch: 7 });
    t.deepEqual((await queue.take(unnamed, never)).run, { ...run('u:ada', 'r2'), takeoverEpoch: 7 });
  });

  check('a run that waits already is not added a second time, and keeps its position', async (t, queue) => {
    for (const id of ['r1', 'r2', 'r1', 'r2', 'r1']) await queue.enqueue(run('u:ada', id));
    await queue.enqueue({ ...run('u:ada', 'r3'), takeoverEpoch: 3 });
    await queue.enqueue({ ...run('u:ada', 'r3'), takeoverEpoch: 3 });
    t.is(queue.waiting(), 3);
    t.deepEqual(await take(queue, 3), ['r1', 'r2', 'r3']);
    await queue.enqueue(run('u:ada', 'r4'));
    t.deepEqual(await take(queue, 1), ['r4']);
  });

  check('a run that waits with an older epoch is delivered with the newer one', async (t, queue) => {
    for (const takeoverEpoch of [5, 6, 5]) await queue.enqueue({ ...run('u:ada', 'r1'), takeoverEpoch });
    await queue.enqueue(run('u:bob', 'last'));
    const epochs: (number | undefined)[] = [];
    for (let waits = true; waits;) {
      const { run: each, settle } = await queue.take(unnamed, never);
      settle();
      if (each.runId === 'r1') epochs.push(each.takeoverEpoch);
      waits = queue.waiting() > 0;
    }
    t.true(epochs.includes(6), epochs.join());
  });

  check('a run that was taken and settled is not delivered again', async (t, queue) => {
    await queue.enqueue(run('u:ada', 'r1'));
    const { settle } = await queue.take(unnamed, never);
    settle();
    settle();
    const controller = new AbortController();
    const taking = queue.take(unnamed, controller.signal);
    await queue.enqueue(run('u:ada', 'r2'));
    t.is((await taking).run.runId, 'r2');
  });

  check('runs of two owners that bear one id are two runs', async (t, queue) => {
    for (const owner of ['u:ada', 'u:bob']) await queue.enqueue(run(owner, 'r1'));
    t.is(queue.waiting(), 2);
    const owners = [(await queue.take(unnamed, never)).run.owner, (await queue.take(unnamed, never)).run.owner];
    t.deepEqual(owners.toSorted(), ['u:ada', 'u:bob']);
  });

  test(`${name}: a taken run may be settled after the queue was closed`, async (t) => {
    const queue = await open();
    await queue.enqueue(run('u:ada', 'r1'));
    const { settle } = await queue.take(unnamed, never);
    await queue[Symbol.asyncDispose]();
    t.notThrows(settle);
  });

  check('runs of one owner are taken in the order they were put', async (t, queue) => {
    const ids = ['r3', 'r1', 'r2', 'r9', 'r0'];
    for (const id of ids) await queue.enqueue(run('u:ada', id));
    t.deepEqual(await take(queue, 5), ids);
  });

  check(
    'of the runs of one owner the one with the highest priority is taken first, and of these the oldest',
    async (t, queue) => {
      for (const id of ['r1', 'r2', 'r3']) await queue.enqueue(run('u:ada', id));
      for (const id of ['m1', 'm2']) await queue.enqueue({ ...run('u:ada', id), priority: 4 });
      for (const id of ['h1', 'h2']) await queue.enqueue({ ...run('u:ada', id), priority: 9 });
      t.deepEqual(await take(queue, 7), ['h1', 'h2', 'm1', 'm2', 'r1', 'r2', 'r3']);
      t.is(queue.waiting(), 0);
    },
  );

  check('after eight turns of runs with a higher priority the run that waits for longest has one', async (t, queue) => {
    await queue.enqueue(run('u:ada', 'first'));
    await queue.enqueue(run('u:ada', 'second'));
    const urgent = Array.from({ length: 20 }, (_, index) => `h${String(index)}`);
    for (const id of urgent) await queue.enqueue({ ...run('u:ada', id), priority: 1 });
    // On NATS one that has had its turn may be delivered once more, which the record refuses.
    const taken = new Set<string>();
    while (taken.size < 22) for (const id of await take(queue, 1)) taken.add(id);
    const order = [...taken];
    t.deepEqual([order.indexOf('first'), order.indexOf('second')], [8, 17]);
    t.deepEqual(
      order.filter((id) => id.startsWith('h')),
      urgent,
    );
  });

  check('a priority takes no turn from another owner', async (t, queue) => {
    for (const id of ['a1', 'a2']) await queue.enqueue(run(ada, id));
    for (const id of ['b1', 'b2', 'b3']) await queue.enqueue(run(bob, id));
    for (const id of ['a3', 'a4']) await queue.enqueue({ ...run(ada, id), priority: 9 });
    const order = await take(queue, 7);
    t.deepEqual(
      order.filter((id) => id.startsWith('a')),
      ['a3', 'a4', 'a1', 'a2'],
    );
    for (const [turn, id] of ['b1', 'b2', 'b3'].entries()) t.true(order.indexOf(id) <= 2 * turn + 1, order.join());
  });

  check('a run that waits already has the higher of its priorities', async (t, queue) => {
    for (const id of ['r1', 'r2', 'r3']) await queue.enqueue(run('u:ada', id));
    await queue.enqueue({ ...run('u:ada', 'r3'), priority: 2 });
    const order = new Set<string>();
    while (order.size < 3) for (const id of await take(queue, 1)) order.add(id);
    t.deepEqual([...order], ['r3', 'r1', 'r2']);
  });

  check('owners take turns, however many runs one of them has', async (t, queue) => {
    for (const id of ['a1', 'a2', 'a3', 'a4']) await queue.enqueue(run(ada, id));
    for (const id of ['b1', 'b2']) await queue.enqueue(run(bob, id));
    await queue.enqueue(run(cyd, 'c1'));
    t.deepEqual(await take(queue, 7), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  check('an owner who comes later has a turn before the runs that an earlier one has left', async (t, queue) => {
    for (const id of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']) await queue.enqueue(run(ada, id));
    t.deepEqual(await take(queue, 1), ['a1']);
    await queue.enqueue(run(bob, 'b1'));
    // On NATS it may have been delivered where nobody takes it yet, and be given back while one more run of the other owner comes.
    t.true((await take(queue, 6)).indexOf('b1') < 3);
  });

  check('an owner that shares its turns waits for a bounded number of runs of the others', async (t, queue) => {
    const noisy = 500;
    for (let index = 0; index < noisy; index++) await queue.enqueue(run('u:noisy', `n${String(index)}`));
    const others = Array.from({ length: 40 }, (_, index) => `o${String(index)}`);
    for (const id of others) await queue.enqueue(run(`u:${id}`, id));
    const order = await take(queue, noisy + others.length);
    for (const id of others) t.true(order.indexOf(id) < longestWait, `${id} came after ${String(order.indexOf(id))}`);
    t.is(new Set(order).size, noisy + others.length);
  });

  check('it counts the waiting runs', async (t, queue) => {
    t.is(queue.waiting(), 0);
    for (const id of ['a1', 'a2']) await queue.enqueue(run('u:ada', id));
    await queue.enqueue(run('u:bob', 'b1'));
    t.is(queue.waiting(), 3);
    await take(queue, 2);
    t.is(queue.waiting(), 1);
    await take(queue, 1);
    t.is(queue.waiting(), 0);
  });

  check('a taker from an empty queue waits, and the first one is served first', async (t, queue) => {
    const order: string[] = [];
    const takers = ['first', 'second'].map(async (taker) => {
      const taken = await queue.take(unnamed, never);
      order.push(`${taker} ${taken.run.runId}`);
    });
    await queue.enqueue(run('u:ada', 'r1'));
    await queue.enqueue(run('u:ada', 'r2'));
    await Promise.all(takers);
    t.deepEqual(order, ['first r1', 'second r2']);
  });

  check('each run is given to one taker only', async (t, queue) => {
    const takers = Array.from({ length: 50 }, async () => {
      const taken = await queue.take(unnamed, never);
      // What nobody settles may be handed out again.
      taken.settle();
      return taken;
    });
    for (let index = 0; index < 100; index++) await queue.enqueue(run(`u:${String(index % 7)}`, `r${String(index)}`));
    const early = await Promise.all(takers);
    const late = await take(queue, 50);
    t.is(new Set([...early.map((taken) => taken.run.runId), ...late]).size, 100);
  });

  check('a taker whose signal fires goes with the reason, and takes no run with it', async (t, queue) => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const leaving = queue.take(unnamed, controller.signal);
    const staying = queue.take(unnamed, never);
    controller.abort(reason);
    t.is(await t.throwsAsync(leaving), reason);
    await queue.enqueue(run('u:ada', 'r1'));
    t.is((await staying).run.runId, 'r1');
  });

  check('a signal that has fired takes nothing', async (t, queue) => {
    await queue.enqueue(run('u:ada', 'r1'));
    const reason = new Error('enough');
    t.is(await t.throwsAsync(queue.take(unnamed, AbortSignal.abort(reason))), reason);
    t.deepEqual(await take(queue, 1), ['r1']);
  });

  check('a signal that fires after its run was taken changes nothing', async (t, queue) => {
    const controller = new AbortController();
    const taking = queue.take(unnamed, controller.signal);
    await queue.enqueue(run('u:ada', 'r1'));
    const taken = await taking;
    controller.abort(new Error('late'));
    t.is(taken.run.runId, 'r1');
    taken.settle();
    await queue.enqueue(run('u:ada', 'r2'));
    t.deepEqual(await take(queue, 1), ['r2']);
  });

  check('a worker takes the runs of the agents that it holds, and the others wait', async (t, queue) => {
    await queue.enqueue({ ...run('u:ada', 'b1'), agent: 'billing' });
    await queue.enqueue({ ...run('u:ada', 's1'), agent: 'support' });
    await queue.enqueue(run('u:ada', 'd1'));
    t.deepEqual(await take(queue, 1, { agents: ['support'] }), ['s1']);
    const leaving = new AbortController();
    const none = queue.take({ agents: ['support'] }, leaving.signal);
    t.deepEqual(await take(queue, 1), ['d1']);
    t.deepEqual((await queue.take({ agents: ['sales', 'billing'] }, never)).run, {
      ...run('u:ada', 'b1'),
      agent: 'billing',
    });
    leaving.abort(new Error('enough'));
    await t.throwsAsync(none, { message: 'enough' });
  });

  check('a run that is put while workers wait goes to one that holds its agent', async (t, queue) => {
    const leaving = new AbortController();
    const support = queue.take({ agents: ['support'] }, leaving.signal);
    const billing = queue.take({ agents: ['billing'] }, never);
    await queue.enqueue({ ...run('u:ada', 'b1'), agent: 'billing' });
    t.is((await billing).run.runId, 'b1');
    leaving.abort(new Error('enough'));
    await t.throwsAsync(support, { message: 'enough' });
  });

  check('the agent without a name is the one named default', async (t, queue) => {
    await queue.enqueue({ ...run('u:ada', 'd1'), agent: 'default' });
    t.is(queue.waiting('default'), 1);
    t.deepEqual(await take(queue, 1), ['d1']);
  });

  check('a run of a revision is taken by its workers alone, and one of none by those of any', async (t, queue) => {
    const billing = { agents: ['billing'] };
    for (const revision of ['r1', 'r2'])
      await queue.enqueue({ ...run('u:ada', `of-${revision}`), agent: 'billing', revision });
    await queue.enqueue({ ...run('u:ada', 'of-any'), agent: 'billing' });
    t.deepEqual((await take(queue, 2, { ...billing, revision: 'r1' })).toSorted(), ['of-any', 'of-r1']);
    await queue.enqueue({ ...run('u:ada', 'later'), agent: 'billing' });
    t.deepEqual(await take(queue, 1, billing), ['later']);
    t.deepEqual(await take(queue, 1, { ...billing, revision: 'r2' }), ['of-r2']);
  });

  check('agents take turns, however many runs one of them has', async (t, queue) => {
    const noisy = 300;
    for (let index = 0; index < noisy; index++)
      await queue.enqueue({ ...run(`u:${String(index % 50)}`, `n${String(index)}`), agent: 'noisy' });
    for (const id of ['q1', 'q2', 'q3']) await queue.enqueue({ ...run('u:ada', id), agent: 'quiet' });
    const order = await take(queue, noisy + 3, { agents: ['noisy', 'quiet'] });
    for (const id of ['q1', 'q2', 'q3'])
      t.true(order.indexOf(id) < longestWait, `${id} came after ${String(order.indexOf(id))}`);
    t.is(new Set(order).size, noisy + 3);
  });

  check('it counts the waiting runs of each agent', async (t, queue) => {
    for (const id of ['b1', 'b2']) await queue.enqueue({ ...run('u:ada', id), agent: 'billing' });
    await queue.enqueue({ ...run('u:bob', 'b3'), agent: 'billing', revision: 'r1' });
    await queue.enqueue(run('u:ada', 'd1'));
    t.deepEqual(
      [undefined, 'billing', 'default', 'sales'].map((agent) => queue.waiting(agent)),
      [4, 3, 1, 0],
    );
    await queue.recount();
    t.deepEqual([queue.waiting(), queue.waiting('billing')], [4, 3]);
    const backlogs = queue.backlogs().toSorted((a, b) => b.waiting - a.waiting);
    t.deepEqual(backlogs.slice(0, 1), [{ agent: 'billing', waiting: 2 }]);
    t.true(backlogs.some(({ revision, waiting }) => revision === 'r1' && waiting === 1));
    await take(queue, 1, { agents: ['billing'] });
    t.deepEqual([queue.waiting(), queue.waiting('billing')], [3, 2]);
  });

  test(`${name}: nothing is lost, and no owner waits longer than the others take turns`, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...apart), { maxLength: 40 }), async (owners) => {
        await using queue = await open();
        const runs = owners.map((owner, index) => run(owner, `r${String(index)}`));
        for (const each of runs) await queue.enqueue(each);
        const taken: RunnableRun[] = [];
        for (const _ of runs) {
          const { run: each, settle } = await queue.take(unnamed, never);
          settle();
          taken.push(each);
        }
        for (const owner of new Set(runs.map((each) => each.owner))) {
          const mine = (list: readonly RunnableRun[]): RunnableRun[] => list.filter((each) => each.owner === owner);
          t.deepEqual(mine(taken), mine(runs));
        }
        // While an owner has runs left, no other has two turns before it has one.
        for (const [index, { owner }] of taken.entries()) {
          const nextTurn = taken.findIndex((each, later) => later > index && each.owner === owner);
          const between = taken.slice(index + 1, nextTurn === -1 ? index + 1 : nextTurn).map((each) => each.owner);
          t.is(new Set(between).size, between.length);
        }
      }),
      { numRuns: 50 },
    );
  });
}

/** What a worker holds whose agents have no names. */
const unnamed: HeldAgents = { agents: ['default'] };

const four: Owners = ['u:ada', 'u:bob', 'u:cyd', 'u:dan'];

const run = (owner: string, runId: string): RunnableRun => ({ owner, threadId: `t-${runId}`, runId });

async function take(queue: RunQueue, count: number, held: HeldAgents = unnamed): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const { run: each, settle } = await queue.take(held, never);
    settle();
    ids.push(each.runId);
  }
  return ids;
}
