import test from 'ava';
import fc from 'fast-check';
import { END, field, START, StateGraph, tool, toolNode, type CompiledGraph } from '@agent-workflow/graph';
import { isServiceError } from '@agent-workflow/kit/errors';
import { newId } from '@agent-workflow/kit/ids';
import { within } from '@agent-workflow/protos/call';
import type { Threads } from '@agent-workflow/protos/threads';
import { areWhole } from '../numbers.ts';
import { call, followAll, logOf, owner, start } from './execution/calls.ts';
import { toChunk } from './execution/chunks.ts';
import { user } from './execution/messages.ts';
import { openReplicas, withoutTaking, type Ground, type Replica } from './replicas.ts';

const turns = field<number>({ type: 'number', default: 0, reducer: (sum, more) => sum + more });

/** How the second step follows the first: after its commit, during it, or in the same write. */
const kinds = ['behind', 'speculative', 'fused'] as const;
type Kind = (typeof kinds)[number];

/** Two quick steps, each with a message. */
const graphOf = (kind: Kind): CompiledGraph => (kind === 'fused' ? fusedGraph : twoNodes(kind === 'speculative'));

const twoNodes = (speculative: boolean): CompiledGraph =>
  new StateGraph({ turns })
    .addNode('first', (_state, ctx) => {
      ctx.emit('first');
      return { turns: 1 };
    })
    .addNode(
      'second',
      (_state, ctx) => {
        ctx.emit('second');
        return { turns: 1 };
      },
      { speculative },
    )
    .addEdge(START, 'first')
    .addEdge('first', 'second')
    .addEdge('second', END)
    .compile();

const read = tool({ name: 'read', description: 'Reads', parameters: {}, replay: 'pure' }, () => 'second');

const fusedGraph = new StateGraph({ turns })
  .addNode('first', (_state, ctx) => {
    ctx.emit({ type: 'tool_call', id: 'c1', name: 'read', args: {} });
    return { turns: 1 };
  })
  .addNode('second', toolNode([read]))
  .addEdge(START, 'first')
  .addEdge('first', 'second')
  .addEdge('second', END)
  .compile();

/** What is called is done, and answered, when the scheduler says so: in whatever order it likes. */
function inAnyOrder<P extends object>(port: P, names: readonly (keyof P)[], scheduler: fc.Scheduler): P {
  const slow = names.map((name) => {
    const method = port[name] as (...args: unknown[]) => Promise<unknown>;
    return [
      name,
      async (...args: unknown[]) => {
        await scheduler.schedule(Promise.resolve(), `to ${String(name)}`);
        try {
          return await method(...args);
        } finally {
          await scheduler.schedule(Promise.resolve(), `from ${String(name)}`);
        }
      },
    ] as const;
  });
  return { ...port, ...Object.fromEntries(slow) };
}

const throughScheduler =
  (scheduler: fc.Scheduler) =>
  (ground: Ground): Partial<Ground> => ({
    threads: inAnyOrder(ground.threads, ['acceptRun', 'claimRun', 'commitStep', 'endRun', 'getRun'], scheduler),
    eventLog: inAnyOrder(ground.eventLog, ['append'], scheduler),
    queue: inAnyOrder(ground.queue, ['enqueue'], scheduler),
  });

/** Between two things that are scheduled, what was asked of the stores has the time to happen. */
async function whenStored(next: () => Promise<void>): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  await next();
}

interface Plan {
  readonly scheduler: fc.Scheduler;
  /** How many scheduled things happen before the stop is asked for, and before the crash, if there is one. */
  readonly stopAfter: number;
  readonly crashAfter: number | undefined;
  /** Whether another replica is asked to stop the run. */
  readonly fromElsewhere: boolean;
  /** Whether the run waits behind another. */
  readonly waits: boolean;
  readonly kind: Kind;
}

interface Receipt {
  readonly status: string;
  readonly stoppedNow: boolean;
  /** What was on record when it was given. */
  readonly version: number;
  readonly messages: number;
}

async function versionOf(threads: Threads, threadId: string): Promise<Pick<Receipt, 'version' | 'messages'>> {
  const { version } = await threads.getState({ owner, threadId }, call());
  return { version, messages: (await logOf(threads, threadId)).length };
}

async function race(plan: Plan): Promise<void> {
  const { scheduler, stopAfter, crashAfter, fromElsewhere, waits } = plan;
  const graph = graphOf(plan.kind);
  await using replicas = await openReplicas();
  const { threads } = replicas;
  const through = throughScheduler(scheduler);
  const env = { LEASE_MS: '500' };
  const driving = await replicas.open({ graph, through, env });
  const elsewhere = await replicas.open({
    graph,
    env,
    through: (ground) => ({ ...through(ground), ...withoutTaking(ground) }),
  });
  const [threadId, runId] = [newId(), newId()];
  const pause = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) await scheduler.schedule(Promise.resolve(), 'pause');
  };

  // Who is dead answers nobody: what it was asked is given up in the end.
  using over = new DisposableStack();
  const ending = new AbortController();
  over.defer(() => ending.abort());
  const untilOver = (): ReturnType<typeof within> => within(20_000, ending.signal);

  let survivor: Replica = driving;
  const crash = async (): Promise<void> => {
    if (crashAfter === undefined) return;
    await pause(crashAfter);
    driving.kill();
    // What the dead one asked for may still arrive, so that one look is not enough.
    survivor = await replicas.open({ graph, through, sweepMs: 10, env });
  };
  const begin = async (): Promise<boolean> => {
    if (waits) await start(driving.execution, { threadId, messages: [user('before')] }, untilOver());
    await start(driving.execution, { threadId, runId }, untilOver());
    return true;
  };
  const stop = async (): Promise<Receipt | undefined> => {
    await pause(stopAfter);
    const { execution } = fromElsewhere ? elsewhere : survivor;
    try {
      const reply = await execution.stopRun({ owner, runId }, untilOver());
      return { ...reply, ...(await versionOf(threads, threadId)) };
    } catch (error) {
      if (isServiceError(error, 'NotFound')) return undefined;
      throw error;
    }
  };

  const crashed = Promise.withResolvers<undefined>();
  const unlessKilled = async <T>(work: Promise<T>): Promise<T | undefined> => {
    work.catch(() => undefined);
    return Promise.race([work, crashed.promise]);
  };
  const stopping = stop();
  const [, , receipt] = await Promise.all([
    unlessKilled(begin()),
    crash().then(() => {
      if (crashAfter !== undefined) crashed.resolve(undefined);
    }),
    fromElsewhere ? stopping : unlessKilled(stopping),
  ]);
  await settle({ replicas, survivor, threadId, runId, receipt, waits });
}

interface Settling {
  readonly replicas: Ground;
  readonly survivor: Replica;
  readonly threadId: string;
  readonly runId: string;
  readonly receipt: Receipt | undefined;
  readonly waits: boolean;
}

/** Everything that was begun comes to its end, and what was said about it is true. */
async function settle({ replicas: { threads }, survivor, threadId, runId, receipt, waits }: Settling): Promise<void> {
  let events;
  try {
    events = await followAll(survivor.execution, runId);
  } catch (error) {
    // It was never accepted.
    if (isServiceError(error, 'NotFound') && receipt === undefined) return;
    throw error;
  }
  const { status } = await threads.getRun({ owner, runId }, call());
  const chunks = events.map(toChunk);
  const ends = chunks.filter(({ event }) => event === 'on_chain_end' || event === 'error');
  expect(ends.length === 1 && ends[0] === chunks.at(-1), `one last event, not ${String(ends.length)}`);
  expect(areWhole(events.map(({ seq }) => seq)), 'no gap');
  expect((ends[0]?.data as { meta?: { status?: string } }).meta?.status === status, `the last event says ${status}`);
  if (!receipt) return;
  expect(receipt.status === status, `the receipt said ${receipt.status}, the record ${status}`);
  expect(!receipt.stoppedNow || status === 'stopped', 'who stopped it, stopped it');
  if (!receipt.stoppedNow || waits) return;
  const { version, messages } = await versionOf(threads, threadId);
  expect(version === receipt.version && messages === receipt.messages, 'nothing was committed after the stop');
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`it does not hold: ${what}`);
}

test('a stop that races acceptance, start, steps, end and crash gives a true receipt, and one end; nothing is committed after it', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        scheduler: fc.scheduler(),
        stopAfter: fc.nat(40),
        crashAfter: fc.option(fc.nat(40), { nil: undefined, freq: 2 }),
        fromElsewhere: fc.boolean(),
        waits: fc.boolean(),
        kind: fc.constantFrom(...kinds),
      }),
      async (plan) => plan.scheduler.waitFor(race(plan), whenStored),
    ),
    { numRuns: 120, timeout: 5000, interruptAfterTimeLimit: 8000, markInterruptAsFailure: false },
  );
  t.pass();
});
