import type { ExecutionContext } from 'ava';
import fc from 'fast-check';
import type { CommitStepRequest, MessageEntry, RunStep, Threads } from '@agent-workflow/protos/threads';
import {
  accept,
  bytes,
  call,
  claim,
  commit,
  completed,
  fieldsOf,
  idsIn,
  interrupted,
  message,
  owner,
  text,
  thread1,
} from './thread-calls.ts';

/** Fields, context and log of one moment, as texts; the log without the checkpoints of its messages, which a fork does not copy. */
export interface Memory {
  readonly fields: Readonly<Record<string, string | undefined>>;
  readonly context: string | undefined;
  readonly log: string | undefined;
}

export async function rememberThread(threads: Threads, threadId = 't1'): Promise<Memory> {
  const state = await threads.getState({ owner, threadId }, call());
  const { messagesJson } = await threads.listMessages({ owner, threadId, limit: 10_000, offset: 0 }, call());
  return { fields: fieldsOf(state), context: text(state.contextJson), log: withoutCheckpoints(text(messagesJson)) };
}

const withoutCheckpoints = (log: string | undefined): string | undefined =>
  log?.replaceAll(/,"checkpoint_id":"\d+"/g, '');

const kinds = [
  'begin',
  'begin',
  'acceptAndClaim',
  'commit',
  'commit',
  'commit',
  'commitTwo',
  'end',
  'endWithTwo',
  'ask',
  'takeover',
  'stop',
  'write',
  'add',
  'delete',
  'clear',
  'fix',
  'interrupt',
  'rollback',
  'restore',
  'restore',
] as const;

/** One thing that happens to a thread; what does not fit the moment does not happen. */
interface Happening {
  readonly kind: (typeof kinds)[number];
  readonly fields: Readonly<Record<string, number>>;
  /** Messages put, by the number of their id: of what stands in the log, it is a replacement. */
  readonly put: readonly number[];
  readonly leave: readonly number[];
}

const numbers = fc.uniqueArray(fc.nat(7), { maxLength: 3 });

/** What was remembered, without the messages of these ids: they were the last to be added. */
function without({ fields, context, log }: Memory, ids: readonly string[]): Memory {
  const cut = (list: string | undefined): string =>
    JSON.stringify(
      (JSON.parse(list ?? '[]') as { message_id: string }[]).filter(({ message_id: id }) => !ids.includes(id)),
    );
  return { fields, context: cut(context), log: cut(log) };
}

export const happening: fc.Arbitrary<Happening> = fc.record({
  kind: fc.constantFrom(...kinds),
  fields: fc.dictionary(fc.constantFrom('a', 'b', 'toString'), fc.nat(99), { maxKeys: 2 }),
  put: numbers,
  leave: numbers,
});

interface Running {
  readonly runId: string;
  readonly epoch: number;
  readonly step: number;
  /** What the run found, and the versions that were kept then. */
  readonly before: Memory;
  readonly keptBefore: ReadonlySet<string>;
}

/** What a step has changed. */
export type StepChange = Omit<RunStep, 'checkpointId' | 'next' | 'work'>;

interface Story {
  readonly play: (happening: Happening) => Promise<void>;
  /** What was remembered at each version that must be kept now. */
  readonly kept: ReadonlyMap<string, Memory>;
  /** What each run's steps committed. */
  readonly steps: ReadonlyMap<string, readonly StepChange[]>;
}

/** Lets things happen to thread `t1`, and remembers it after each. */
export function openStory(t: ExecutionContext, threads: Threads): Story {
  const kept = new Map<string, Memory>();
  const steps = new Map<string, StepChange[]>();
  let running: Running | undefined;
  let runs = 0;
  let writes = 0;

  const messagesOf = (put: readonly number[]): MessageEntry[] =>
    put.map((id) =>
      message(`m${String(id)}`, 'user', [{ type: 'text', text: `${String(id)} ${String((writes += 1))}` }]),
    );
  const fieldsFrom = (fields: Happening['fields']): Record<string, Uint8Array> =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, bytes(String(value))]));

  const begin = async (parts: Parameters<typeof accept>[2], isClaimed: boolean): Promise<void> => {
    const runId = `r${String((runs += 1))}`;
    const reply = await accept(threads, runId, { ...parts, ...(isClaimed ? { claim: { workerId: 'w1' } } : {}) });
    await notice();
    const before = await rememberAfter(reply.claimed ? runId : undefined);
    const { epoch, step } = reply.claimed ?? (await claim(threads, runId));
    running = { runId, epoch, step, ...before };
    steps.set(runId, []);
  };

  /** What the run found; the thread has changed already when it was claimed with its acceptance. */
  let last: Memory = { fields: {}, context: '[]', log: '[]' };
  let keptLast: ReadonlySet<string> = new Set();
  const rememberAfter = async (claimedBy: string | undefined): Promise<Pick<Running, 'before' | 'keptBefore'>> =>
    claimedBy === undefined
      ? { before: await rememberThread(threads), keptBefore: new Set(kept.keys()) }
      : { before: last, keptBefore: keptLast };

  /** Remembers the newest two versions, of which the newer only added the messages of these ids. */
  const noticeBoth = async (added: readonly string[]): Promise<void> => {
    const { checkpoints } = await threads.listCheckpoints({ ...thread1, limit: 2, offset: 0 }, call());
    const [newest, passed] = checkpoints;
    const memory = await rememberThread(threads);
    if (passed) kept.set(passed.checkpointId, without(memory, added));
    if (newest) kept.set(newest.checkpointId, memory);
  };

  const notice = async (): Promise<void> => {
    const { checkpoints } = await threads.listCheckpoints({ ...thread1, limit: 1, offset: 0 }, call());
    const [newest] = checkpoints;
    if (newest && !kept.has(newest.checkpointId)) kept.set(newest.checkpointId, await rememberThread(threads));
  };

  const commitStep = async (
    { runId, epoch, step }: Running,
    { fields, put, leave }: Happening,
    parts: Partial<CommitStepRequest>,
  ): Promise<void> => {
    const { contextJson } = await threads.getState(thread1, call());
    const messages = messagesOf(put);
    const context = new Set([...idsIn(contextJson), ...messages.map(({ messageId }) => messageId)]);
    const removedFromContext = leave.map((id) => `m${String(id)}`).filter((id) => context.has(id));
    const request = {
      step,
      fields: fieldsFrom(fields),
      messages,
      replacesMessages: true,
      removedFromContext,
      ...parts,
    };
    await commit(threads, runId, epoch, { ...request, at: writes });
    const messagesJson = bytes(`[${messages.map(({ json }) => text(json)).join(',')}]`);
    steps
      .get(runId)
      ?.push({ step, nodes: ['a'], at: writes, fields: request.fields, messagesJson, removedFromContext });
    const { fused } = parts;
    if (fused) {
      const { nodes, at, messages: added } = fused;
      const addedJson = bytes(`[${added.map(({ json }) => text(json)).join(',')}]`);
      const second = { step: step + 1, nodes, at, fields: {}, messagesJson: addedJson, removedFromContext: [] };
      steps.get(runId)?.push(second);
      await noticeBoth(added.map(({ messageId }) => messageId));
    }
    const next = { runId, epoch, step: step + (fused ? 2 : 1), ...foundBy(running) };
    running = (parts.end ?? fused?.end) ? undefined : next;
  };

  /** A step that adds as many new messages. */
  const fusedWith = (count: number): NonNullable<CommitStepRequest['fused']> => ({
    at: (writes += 1),
    messages: Array.from({ length: count }, () =>
      message(`f${String((writes += 1))}`, 'tool', [{ type: 'text', text: 'fused' }]),
    ),
    ...{ nodes: ['tools'], next: ['a'], openCalls: [] },
  });

  const foundBy = (run: Running | undefined): Pick<Running, 'before' | 'keptBefore'> => ({
    before: run?.before ?? last,
    keptBefore: run?.keptBefore ?? new Set(),
  });

  const rollBack = async (
    { runId, before, keptBefore, epoch, step }: Running,
    put: readonly number[],
  ): Promise<void> => {
    const next = `r${String((runs += 1))}`;
    const reply = await accept(threads, next, { messages: messagesOf(put), multitaskStrategy: 'rollback' });
    t.is(reply.stoppedRunId, runId);
    t.deepEqual(await rememberThread(threads), before);
    for (const id of kept.keys()) if (!keptBefore.has(id)) kept.delete(id);
    steps.set(runId, []);
    await t.throwsAsync(commit(threads, runId, epoch, { step }));
    await notice();
    const found = { before, keptBefore: new Set(kept.keys()) };
    const { epoch: newEpoch, step: first } = await claim(threads, next);
    running = { runId: next, epoch: newEpoch, step: first, ...found };
    steps.set(next, []);
  };

  /** Goes back to one of the versions that are kept. */
  const restore = async (back: number): Promise<void> => {
    const [checkpointId, memory] = [...kept].at(-1 - (back % kept.size)) ?? [];
    if (checkpointId === undefined) return;
    await threads.restoreThread({ ...thread1, checkpointId }, call());
    t.deepEqual(await rememberThread(threads), memory);
  };

  const whileRunning = async (run: Running, { kind, put, ...rest }: Happening): Promise<void> => {
    const { runId, epoch } = run;
    const openCalls = [{ callId: 'c1', name: 'look' }];
    if (kind === 'commit') await commitStep(run, { kind, put, ...rest }, { next: ['b'] });
    if (kind === 'commitTwo')
      await commitStep(run, { kind, put, ...rest }, { next: ['tools'], openCalls, fused: fusedWith(put.length) });
    if (kind === 'endWithTwo')
      await commitStep(run, { kind, put, ...rest }, { next: ['tools'], fused: { ...fusedWith(1), end: completed } });
    if (kind === 'end') await commitStep(run, { kind, put, ...rest }, { end: completed });
    if (kind === 'ask') await commitStep(run, { kind, put, ...rest }, { end: interrupted, next: ['tools'], openCalls });
    if (kind === 'takeover') {
      const taken = await claim(threads, runId, { takeoverEpoch: epoch });
      running = taken.givenUp ? undefined : { ...run, epoch: taken.epoch, step: taken.step };
    }
    if (kind === 'stop') {
      await threads.endRun({ owner, runId, status: 'stopped' }, call());
      running = undefined;
    }
    if (kind === 'interrupt') await begin({ messages: messagesOf(put), multitaskStrategy: 'interrupt' }, false);
    if (kind === 'rollback') await rollBack(run, put);
  };

  const whileIdle = async ({ kind, put, leave, fields }: Happening): Promise<void> => {
    const input = { messages: messagesOf(put) };
    const makesIt = runs === 0;
    if (makesIt || kind === 'begin' || kind === 'acceptAndClaim') await begin(input, kind === 'begin');
    if (makesIt) return;
    if (kind === 'add' && put.length > 0) await threads.addMessages({ ...thread1, messages: input.messages }, call());
    if (kind === 'clear') await threads.clearState(thread1, call());
    if (kind === 'fix') await threads.fixThread(thread1, call());
    if (kind === 'delete') {
      const { messagesJson } = await threads.listMessages({ ...thread1, limit: 100, offset: 0 }, call());
      const log = idsIn(messagesJson);
      const messageId = leave.map((id) => `m${String(id)}`).find((id) => log.includes(id));
      if (messageId !== undefined) await threads.deleteMessage({ ...thread1, messageId }, call());
    }
    if (kind === 'restore') await restore(put[0] ?? 0);
    if (kind === 'write') {
      const { version: expectedVersion } = await threads.getState(thread1, call());
      const write = { ...thread1, expectedVersion, fields: fieldsFrom(fields), messages: input.messages };
      await threads.writeState(write, call());
    }
  };

  return {
    kept,
    steps,
    play: async (next) => {
      if (running) await whileRunning(running, next);
      else await whileIdle(next);
      if (runs === 0) return;
      await notice();
      last = await rememberThread(threads);
      keptLast = new Set(kept.keys());
    },
  };
}
