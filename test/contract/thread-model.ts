import type { ExecutionContext } from 'ava';
import fc from 'fast-check';
import { isServiceError, type ErrorCode } from '@agent-workflow/kit/errors';
import type { EndStatus, MultitaskStrategy, RunStatus } from '@agent-workflow/protos/lists';
import type { Threads } from '@agent-workflow/protos/threads';
import { accept, assistant, call, claim, commit, completed, logOf, owner, thread1 } from './thread-calls.ts';

/** What a worker holds: it may commit this step, as long as nobody has taken the run from it. */
interface Token {
  readonly runId: string;
  readonly epoch: number;
  readonly step: number;
}

interface Active {
  readonly runId: string;
  step: number;
  claims: number;
  isRunning: boolean;
  /** The log as the first claim found it. */
  found: readonly string[] | undefined;
}

/** One thread as it is promised to be: the plainest telling of the rules. */
interface ThreadModel {
  exists: boolean;
  deleting: boolean;
  /** Runs of a thread that was removed are never named again. */
  generation: number;
  epoch: number;
  active: Active | undefined;
  queue: string[];
  /** Every run, and how it stands. */
  readonly runs: Map<string, RunStatus>;
  log: readonly string[];
  /** Of every worker that ever had a run, also of those that do not know yet that they have lost it. */
  tokens: Token[];
  commits: number;
}

export const newModel = (): ThreadModel => ({
  exists: false,
  deleting: false,
  generation: 0,
  epoch: 0,
  active: undefined,
  queue: [],
  runs: new Map(),
  log: [],
  tokens: [],
  commits: 0,
});

type Command = fc.AsyncCommand<ThreadModel, Threads>;

/** Gives what came of a call: its reply, or the code it was refused with. */
async function outcome<T>(work: Promise<T>): Promise<T | ErrorCode> {
  try {
    return await work;
  } catch (error) {
    if (isServiceError(error)) return error.code;
    throw error;
  }
}

/** Calls on one thread, each with what the model says must come of it. */
export function threadCommand(t: ExecutionContext): fc.Arbitrary<Command>[] {
  const named = (title: string, run: Command['run']): Command => ({
    check: () => true,
    run: async (model, threads) => {
      await run(model, threads);
      await compare(t, model, threads, title);
    },
    toString: () => title,
  });
  const accepting = fc
    .tuple(target, fc.constantFrom('enqueue', 'reject', 'interrupt', 'rollback'), fc.boolean())
    .map(([n, strategy, isClaimed]) =>
      named(`accept ${n} ${strategy}${isClaimed ? ' with claim' : ''}`, async (model, threads) => {
        const runId = nameOf(model, n);
        const parts = { multitaskStrategy: strategy, ...(isClaimed ? { claim: { workerId: 'w' } } : {}) };
        const actual = await outcome(accept(threads, runId, parts));
        const expected = acceptIn(model, runId, strategy, isClaimed);
        if (typeof actual === 'string' || typeof expected === 'string')
          return void t.is<unknown, unknown>(actual, expected);
        const { status, runnable, stoppedRunId, claimed } = actual;
        t.deepEqual({ status, runnable, stoppedRunId, epoch: claimed?.epoch }, expected);
      }),
    );
  const claiming = fc.tuple(target, fc.constantFrom(undefined, 0, 0, -1)).map(([n, behind]) =>
    named(`claim ${n} ${String(behind)}`, async (model, threads) => {
      const runId = nameOf(model, n);
      const takeoverEpoch = behind === undefined ? undefined : model.epoch + behind;
      const actual = await outcome(claim(threads, runId, takeoverEpoch === undefined ? {} : { takeoverEpoch }));
      const expected = claimIn(model, runId, takeoverEpoch);
      if (typeof actual === 'string' || typeof expected === 'string')
        return void t.is<unknown, unknown>(actual, expected);
      t.deepEqual({ epoch: actual.epoch, step: actual.step, isLastClaim: actual.givenUp !== undefined }, expected);
    }),
  );
  const committing = fc
    .tuple(fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(9)), fc.boolean())
    .map(([n, isLast]) =>
      named(`commit by holder ${String(n)}${isLast ? ', the last' : ''}`, async (model, threads) => {
        const token = model.tokens[model.tokens.length - 1 - (n % Math.max(1, model.tokens.length))];
        if (!token) return;
        const messageId = `a${String((model.commits += 1))}`;
        const parts = { step: token.step, messages: [assistant(messageId)], ...(isLast ? { end: completed } : {}) };
        const actual = await outcome(commit(threads, token.runId, token.epoch, parts));
        const expected = commitIn(model, token, messageId, isLast);
        if (typeof actual === 'string' || typeof expected === 'string')
          return void t.is<unknown, unknown>(actual, expected);
        t.is(actual.nextRunId, expected.nextRunId);
      }),
    );
  const stopping = target.map((n) =>
    named(`stop ${n}`, async (model, threads) => {
      const runId = nameOf(model, n);
      const actual = await outcome(threads.endRun({ owner, runId, status: 'stopped' }, call()));
      const expected = stopIn(model, runId);
      if (typeof actual === 'string' || typeof expected === 'string')
        return void t.is<unknown, unknown>(actual, expected);
      t.like({ nextRunId: undefined, ...actual }, expected);
    }),
  );
  const deleting = fc.constantFrom(false, true).map((isFinished) =>
    named(isFinished ? 'finish the deletion' : 'delete', async (model, threads) => {
      if (isFinished) {
        await threads.finishDelete(thread1, call());
        if (model.deleting)
          Object.assign(model, newModel(), { generation: model.generation + 1, tokens: model.tokens });
        return;
      }
      const actual = await outcome(threads.beginDelete(thread1, call()));
      const open = [...(model.active ? [model.active.runId] : []), ...model.queue];
      t.deepEqual(typeof actual === 'string' ? actual : actual.stoppedRunIds, model.exists ? open : 'NotFound');
      if (model.exists) model.epoch += 1;
      model.deleting = model.exists;
    }),
  );
  // Most of what happens is to the point; a deletion ends the story of a thread, so it comes seldom.
  return [accepting, accepting, claiming, claiming, claiming, committing, committing, committing, stopping, deleting];
}

/** Which run is meant: one nobody has named before, the one that holds the thread, or one by its number. */
const target = fc.constantFrom('new', 'new', 'active', 'active', 'active', '0', '1', '2');

function nameOf({ generation, active, runs }: ThreadModel, which: string): string {
  if (which === 'active' && active) return active.runId;
  return `g${String(generation)}-r${which === 'new' ? String(runs.size) : which}`;
}

interface Accepted {
  readonly status: RunStatus;
  readonly runnable: boolean;
  readonly stoppedRunId: string | undefined;
  readonly epoch: number | undefined;
}

function acceptIn(
  model: ThreadModel,
  runId: string,
  strategy: MultitaskStrategy,
  isClaimed: boolean,
): Accepted | ErrorCode {
  if (model.deleting) return 'NotFound';
  const known = model.runs.get(runId);
  const isHeld = model.active !== undefined;
  if (known !== undefined) {
    const runnable = known === 'queued' && model.active?.runId === runId;
    return { status: known, runnable, stoppedRunId: undefined, epoch: undefined };
  }
  if (isHeld && strategy === 'reject') return 'Conflict';
  model.exists = true;
  model.runs.set(runId, 'queued');
  if (isHeld && strategy === 'enqueue') {
    model.queue.push(runId);
    return { status: 'queued', runnable: false, stoppedRunId: undefined, epoch: undefined };
  }
  const stoppedRunId = model.active?.runId;
  const undoes = strategy === 'rollback' ? model.active?.found : undefined;
  if (stoppedRunId !== undefined) {
    model.runs.set(stoppedRunId, 'stopped');
    model.epoch += 1;
  }
  model.log = undoes ?? model.log;
  model.active = { runId, step: 0, claims: 0, isRunning: false, found: undefined };
  if (!isClaimed || undoes) return { status: 'queued', runnable: true, stoppedRunId, epoch: undefined };
  begin(model, model.active);
  return { status: 'running', runnable: false, stoppedRunId, epoch: model.epoch };
}

/** The first claim of a run: its input enters the log. */
function begin(model: ThreadModel, active: Active): void {
  active.found = model.log;
  active.isRunning = true;
  model.log = [...model.log, `m-${active.runId}`];
  model.runs.set(active.runId, 'running');
  hand(model, active);
}

function hand(model: ThreadModel, active: Active): void {
  model.epoch += 1;
  active.claims += 1;
  model.tokens.push({ runId: active.runId, epoch: model.epoch, step: active.step });
}

type Claimed = { readonly epoch: number; readonly step: number; readonly isLastClaim: boolean } | ErrorCode;

function claimIn(model: ThreadModel, runId: string, takeoverEpoch: number | undefined): Claimed {
  const { active } = model;
  if (!model.runs.has(runId)) return 'NotFound';
  if (model.deleting || active?.runId !== runId) return 'Stale';
  if (active.isRunning && takeoverEpoch !== model.epoch) return 'Stale';
  const { step } = active;
  if (active.claims === 3) {
    model.epoch += 1;
    release(model, 'failed');
    return { epoch: model.epoch, step, isLastClaim: true };
  }
  if (active.isRunning) hand(model, active);
  else begin(model, active);
  return { epoch: model.epoch, step, isLastClaim: false };
}

/** The run that holds the thread ends so; whoever waited longest has it now. */
function release(model: ThreadModel, status: EndStatus): string | undefined {
  if (model.active) model.runs.set(model.active.runId, status);
  const next = model.queue.shift();
  model.active =
    next === undefined ? undefined : { runId: next, step: 0, claims: 0, isRunning: false, found: undefined };
  return next;
}

function commitIn(
  model: ThreadModel,
  token: Token,
  messageId: string,
  isLast: boolean,
): { readonly nextRunId: string | undefined } | ErrorCode {
  const { active } = model;
  const isTaken =
    !model.deleting &&
    active?.runId === token.runId &&
    active.isRunning &&
    model.epoch === token.epoch &&
    active.step === token.step;
  if (!isTaken) return 'Stale';
  model.log = [...model.log, messageId];
  active.step += 1;
  active.claims = 0;
  model.tokens.push({ ...token, step: active.step });
  return { nextRunId: isLast ? release(model, 'completed') : undefined };
}

interface Stopped {
  readonly status: RunStatus;
  readonly endedNow: boolean;
  readonly nextRunId: string | undefined;
}

function stopIn(model: ThreadModel, runId: string): Stopped | ErrorCode {
  const status = model.runs.get(runId);
  if (status === undefined || model.deleting) return 'NotFound';
  if (status !== 'queued' && status !== 'running') return { status, endedNow: false, nextRunId: undefined };
  if (model.active?.runId !== runId) {
    model.queue = model.queue.filter((id) => id !== runId);
    model.runs.set(runId, 'stopped');
    return { status: 'stopped', endedNow: true, nextRunId: undefined };
  }
  model.epoch += 1;
  return { status: 'stopped', endedNow: true, nextRunId: release(model, 'stopped') };
}

/** Holds that the record says of thread and runs what the model does. */
async function compare(t: ExecutionContext, model: ThreadModel, threads: Threads, title: string): Promise<void> {
  for (const [runId, status] of model.runs) {
    const actual = await outcome(threads.getRun({ owner, runId }, call()));
    const seen = typeof actual === 'string' ? actual : actual.status;
    t.is(seen, model.deleting ? 'NotFound' : status, `${title}: ${runId}`);
  }
  if (model.exists && !model.deleting) t.deepEqual(await logOf(threads), [...model.log], title);
  else
    t.is(
      await outcome(threads.getThread(thread1, call())).then((actual) => (typeof actual === 'string' ? actual : '')),
      'NotFound',
    );
}
