import { setTimeout as delay } from 'node:timers/promises';
import { isServiceError, type ErrorCode } from '@agent-workflow/kit/errors';
import type { Run, Threads } from '@agent-workflow/protos/threads';
import { assistant, bytes, call, completed, user } from '../contract/thread-calls.ts';

/** One thread as those who write it know it: what they asked for, in what order, and what they were told. */
export interface History {
  readonly key: { readonly owner: string; readonly threadId: string };
  /** In order of acceptance. */
  readonly accepted: string[];
  readonly messages: Asked[];
  /** The ends of runs that somebody was told of. */
  readonly ends: { readonly runId: string; readonly status: string }[];
}

/** A message that was asked for once, however often the call was made. */
interface Asked {
  readonly messageId: string;
  /** Of a shared count of events: before the first call, and after the last. */
  readonly from: number;
  readonly to: number;
  readonly isWritten: boolean;
}

/** What the callers of all histories met. */
export interface Tally {
  acknowledged: number;
  /** Calls that ended with Unavailable or Timeout. */
  failed: number;
  slowestFailureMs: number;
  /** Writes of which a call failed, and whose outcome the caller then learnt. */
  resolved: number;
  events: number;
  /** One history has failed: the others need not go on. */
  isBroken: boolean;
}

export const newTally = (): Tally => ({
  ...{ acknowledged: 0, failed: 0, slowestFailureMs: 0, resolved: 0, events: 0 },
  isBroken: false,
});

interface HistoryOptions {
  readonly key: History['key'];
  /** Who drives the runs. */
  readonly worker: Threads;
  /** Who accepts and stops them, and adds messages: at the same time. */
  readonly caller: Threads;
  readonly random: () => number;
  /** Whether one more run is to be made when there are so many. */
  readonly goesOn: (runs: number) => boolean;
  readonly tally: Tally;
}

/** Plays runs on one thread; whoever meets a failure tries again with the same ids until the answer is definite. */
export async function playHistory(options: HistoryOptions): Promise<History> {
  const { key, worker, caller, random, goesOn, tally } = options;
  const history: History = { key, accepted: [], messages: [], ends: [] };

  /** An owner's runs of all threads are told apart by their ids. */
  const runIdAt = (index: number): string => `${key.threadId}-r${index}`;

  const insist = async <T>(work: () => Promise<T>): Promise<Answer<T>> => {
    const until = performance.now() + timeoutMs;
    for (let failures = 0; ; failures += 1) {
      const begun = performance.now();
      try {
        const value = await work();
        tally.acknowledged += 1;
        return { value, failures };
      } catch (error) {
        if (!isServiceError(error) || tally.isBroken || performance.now() > until) throw error;
        if (refusals.includes(error.code)) return { refused: error.code, failures };
        // No other failure is the server's absence.
        if (error.code !== 'Unavailable' && error.code !== 'Timeout') throw error;
        tally.failed += 1;
        tally.slowestFailureMs = Math.max(tally.slowestFailureMs, performance.now() - begun);
        await delay(retryMs);
      }
    }
  };

  /** A write whose call failed and was then refused may have been made by the call that failed: the log tells. */
  const put = async <T>(messageId: string, work: () => Promise<T>): Promise<boolean> => {
    const from = (tally.events += 1);
    const answer = await insist(work);
    if (answer.failures > 0) tally.resolved += 1;
    const isWritten = !answer.refused || (answer.failures > 0 && (await stands(messageId)));
    history.messages.push({ messageId, from, to: (tally.events += 1), isWritten });
    return isWritten;
  };

  const stands = async (messageId: string): Promise<boolean> =>
    (await insist(() => worker.getMessage({ ...key, messageId }, call()))).refused === undefined;

  const accept = async (runId: string): Promise<void> => {
    const { refused } = await insist(() => caller.acceptRun(acceptance(key, runId), call()));
    if (refused) throw new Error(`the run ${runId} was refused with ${refused}`);
    history.accepted.push(runId);
  };

  /** @returns the epoch; none when the run is over. */
  const claim = async (runId: string): Promise<number | undefined> => {
    for (let takeover: { takeoverEpoch?: number } = {}; ;) {
      const asked = { ...key, runId, workerId: 'w1', ...takeover };
      const { value, failures } = await insist(() => worker.claimRun(asked, call()));
      if (value?.givenUp) history.ends.push({ runId, status: 'failed' });
      if (value) return value.givenUp ? undefined : value.epoch;
      const { value: run } = await insist(() => worker.getRun({ owner: key.owner, runId }, call()));
      if (failures === 0 || run?.epoch === undefined) return undefined;
      tally.resolved += 1;
      takeover = { takeoverEpoch: run.epoch };
    }
  };

  const drive = async (runId: string, steps: number): Promise<void> => {
    const epoch = await claim(runId);
    if (epoch === undefined) return;
    for (let step = 0; step < steps; step += 1) {
      const isLast = step === steps - 1;
      const messageId = stepId(runId, step);
      const request = { ...emptyStep, ...key, runId, epoch, step, at: Date.now(), messages: [assistant(messageId)] };
      const ending = isLast ? { end: completed } : {};
      if (!(await put(messageId, () => worker.commitStep({ ...request, ...ending }, call())))) return;
      if (isLast) history.ends.push({ runId, status: 'completed' });
    }
  };

  const stop = async (runId: string): Promise<void> => {
    const { value } = await insist(() => caller.endRun({ owner: key.owner, runId, status: 'stopped' }, call()));
    if (value) history.ends.push({ runId, status: value.status });
  };

  const add = async (messageId: string): Promise<void> => {
    await put(messageId, () => caller.addMessages({ ...key, messages: [user(messageId)] }, call()));
  };

  const playOne = async (index: number): Promise<void> => {
    const runId = runIdAt(index);
    const ahead = random() < 0.3 ? 2 : 1;
    while (history.accepted.length < index + ahead) await accept(runIdAt(history.accepted.length));
    const steps = 1 + Math.floor(random() * 3);
    const others = [
      ...(random() < 0.3 ? [add(`u-${runId}`)] : []),
      ...(random() < 0.2 ? [delay(random() * 30).then(() => stop(runId))] : []),
    ];
    await Promise.all([drive(runId, steps), ...others]);
    await stop(runId);
    const isIdle = history.accepted.length === index + 1;
    if (isIdle && random() < 0.5) await add(`v-${runId}`);
  };

  try {
    for (let index = 0; goesOn(index); index += 1) await playOne(index);
  } catch (error) {
    tally.isBroken = true;
    throw error;
  }
  for (const runId of history.accepted) await stop(runId);
  return history;
}

/** Of a run that is over, of a message that is not there, and of a message while a run is under way. */
const refusals: readonly ErrorCode[] = ['Stale', 'NotFound', 'Conflict'];
const retryMs = 20;
/** A call that fails for so long is not made again: nothing is unavailable for as long. */
const timeoutMs = 90_000;

type Answer<T> =
  | { readonly value: T; readonly refused?: undefined; readonly failures: number }
  | { readonly value?: undefined; readonly refused: ErrorCode; readonly failures: number };

const inputId = (runId: string): string => `m-${runId}`;
const stepId = (runId: string, step: number): string => `${runId}-s${step}`;

const acceptance = (key: History['key'], runId: string): Parameters<Threads['acceptRun']>[0] => ({
  ...key,
  runId,
  requestId: 'q',
  messages: [user(inputId(runId))],
  answers: [],
  hasNewInput: true,
  optionsJson: bytes('{}'),
  multitaskStrategy: 'enqueue',
  granularity: 'low',
});

const emptyStep = {
  fields: {},
  replacesMessages: false,
  removedFromContext: [],
  nodes: ['a'],
  next: [],
  openCalls: [],
  openInterrupts: [],
};

/** Everything in which the record differs from what those who wrote it were told. */
export async function faultsOf(threads: Threads, history: History): Promise<readonly string[]> {
  const [log, runs, steps] = await Promise.all([
    logOf(threads, history.key),
    runsOf(threads, history.key),
    stepsOf(threads, history.key),
  ]);
  return [
    ...faultsOfLog(log, history),
    ...faultsOfOrder(log, history),
    ...faultsOfEnds(runs, history),
    ...repeated(steps).map((step) => `${step} was committed twice`),
  ].map((fault) => `${history.key.threadId}: ${fault}`);
}

function faultsOfLog(log: readonly string[], { messages, accepted }: History): string[] {
  const written = messages.filter(({ isWritten }) => isWritten).map(({ messageId }) => messageId);
  const expected = new Set([...written, ...accepted.map(inputId)]);
  return [
    ...repeated(log).map((id) => `${id} stands in the log twice`),
    ...written.filter((id) => !log.includes(id)).map((id) => `${id} was acknowledged and is missing`),
    ...log.filter((id) => !expected.has(id)).map((id) => `${id} was refused and stands in the log`),
  ];
}

/** What was acknowledged before something else was asked for stands before it; runs go in the order of their acceptance. */
function faultsOfOrder(log: readonly string[], { messages, accepted }: History): string[] {
  const places = new Map(log.map((id, index) => [id, index]));
  const placed = messages.flatMap((asked) => ({ ...asked, place: places.get(asked.messageId) ?? -1 }));
  const present = placed.filter(({ place }) => place >= 0);
  const swapped = present.flatMap((first) =>
    present
      .filter(({ from, place }) => first.to < from && first.place > place)
      .map(({ messageId }) => `${first.messageId} was acknowledged before ${messageId} and comes after it`),
  );
  const wanted = accepted.flatMap((runId) => [
    inputId(runId),
    ...messages.map(({ messageId }) => messageId).filter((id) => id.startsWith(`${runId}-s`)),
  ]);
  const found = log.filter((id) => wanted.includes(id));
  const inOrder = wanted.filter((id) => places.has(id));
  return found.join() === inOrder.join() ? swapped : [...swapped, `the runs wrote ${found.join()}`];
}

function faultsOfEnds(runs: ReadonlyMap<string, Run>, { accepted, ends }: History): string[] {
  return accepted.flatMap((runId) => {
    const statuses = new Set(ends.filter((end) => end.runId === runId).map(({ status }) => status));
    const known = runs.get(runId)?.status ?? 'absent';
    return statuses.size === 1 && statuses.has(known)
      ? []
      : [`${runId} is ${known}, told was ${[...statuses].join(' and ')}`];
  });
}

const repeated = (items: readonly string[]): string[] => items.filter((item, index) => items.indexOf(item) !== index);

const all = { limit: 1000, offset: 0 };

async function logOf(threads: Threads, key: History['key']): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let next: { cursor?: string } | undefined = {}; next;) {
    const { messagesJson, cursor } = await threads.listMessages({ ...key, ...all, ...next }, call());
    const page = JSON.parse(Buffer.from(messagesJson).toString()) as readonly { readonly message_id: string }[];
    ids.push(...page.map((each) => each.message_id));
    next = cursor === undefined ? undefined : { cursor };
  }
  return ids;
}

async function runsOf(threads: Threads, key: History['key']): Promise<ReadonlyMap<string, Run>> {
  const { runs } = await threads.listRuns({ ...key, ...all }, call());
  return new Map(runs.map((run) => [run.runId, run]));
}

/** A version for each step and each input that entered the log. */
async function stepsOf(threads: Threads, key: History['key']): Promise<readonly string[]> {
  const { checkpoints } = await threads.listCheckpoints({ ...key, ...all }, call());
  return checkpoints.flatMap(({ source, runId, step }) =>
    source === 'step' || source === 'input' ? [`${source} ${String(runId)}/${String(step)}`] : [],
  );
}
