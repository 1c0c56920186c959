import type { RunContext } from '../build/context.ts';
import type { CompiledGraph } from '../build/graph.ts';
import { deepFreeze } from '../state/state.ts';
import { createCrashScope } from './crash-scope.ts';
import { requireGraph } from './given-walk.ts';
import { beginWalk, isOver, walkStep, type Walked, type WalkOptions } from './walk.ts';
import type { BranchRecords } from '../run/branch-records.ts';
import type { ToolCallRecord, ToolCallRecords } from '../run/tool-call-records.ts';
import { isCall, type Message } from '@agent-workflow/protos/message';

/** What is walked, made anew for each walk. */
export interface CrashSubject {
  /** The graph. A function makes it again after a crash, as a new process does: what the first one kept in variables is gone. */
  readonly graph: CompiledGraph | (() => CompiledGraph);
  readonly run?: Partial<RunContext>;
  /** What the walk has done outside of its thread, for example the bookings of a fake API; it is compared too. */
  readonly effects?: () => unknown;
}

/** Where a walk crashes. */
export interface CrashPoint {
  /** The number of the step, from 1. */
  readonly step: number;
  readonly nodes: readonly string[];
  readonly moment: 'before commit' | 'before records' | 'after commit';
}

/** A walk that has ended. */
export interface CrashWalk {
  readonly walked: Walked;
  /** What two walks have in common when they do the same. */
  readonly outcome: object;
  /** Where a walk of these steps can crash. */
  readonly points: readonly CrashPoint[];
}

interface CrashWalkOptions {
  readonly options: WalkOptions;
  /** Fields of the state that the outcome leaves out. */
  readonly ignoredFields: readonly string[];
  /** Where it crashes. */
  readonly at: CrashPoint | undefined;
}

/** Walks to the end, with a crash at `at` on the way; without one when it is absent. */
export async function walkToCrash(
  subject: CrashSubject,
  { options, ignoredFields, at }: CrashWalkOptions,
): Promise<CrashWalk> {
  const scope = createCrashScope();
  const startProcess = (): CompiledGraph => {
    const given = typeof subject.graph === 'function' ? subject.graph() : subject.graph;
    requireGraph(given);
    return scope.surround(given);
  };
  const own = { ...options, run: { ...options.run, ...subject.run } };
  const ids = createKnownIds();
  const points: CrashPoint[] = [];
  let graph = startProcess();
  let walked = await beginWalk(graph, own);
  while (!isOver(walked, own)) {
    const records = createKeptRecords();
    const { branchRecords, toolCallRecords } = records;
    const stepOptions = { ...own, branchRecords, toolCallRecords };
    const moment = at?.step === walked.steps.length + 1 ? at.moment : undefined;
    if (moment === 'before commit' || moment === 'before records') {
      await walkStep(graph, walked, stepOptions);
      scope.crash(keptAt(moment, records));
      graph = startProcess();
      // Before its first commit a run has no place in the graph on record.
      walked = walked.steps.length === 0 ? await beginWalk(graph, own) : readAgain(walked);
    }
    const before = walked;
    walked = await walkStep(graph, before, stepOptions);
    scope.commit();
    ids.learn(walked.state.context);
    for (const name of ignoredFields) ids.learnWithin(walked.state.values[name]);
    points.push(...pointsOf(before, walked, own));
    if (moment === 'after commit') {
      graph = startProcess();
      walked = readAgain(walked);
    }
  }
  return { walked, points, outcome: outcomeOf(withoutFields(walked, ignoredFields), ids, subject) };
}

function keptAt(
  moment: CrashPoint['moment'],
  { forgetBranches, kept }: ReturnType<typeof createKeptRecords>,
): ReadonlySet<string> {
  if (moment === 'before records') forgetBranches();
  return kept();
}

/** The walk as another process reads it. */
const readAgain = (walked: Walked): Walked => {
  const { state, continuation, ...rest } = JSON.parse(JSON.stringify(walked)) as Walked;
  return { ...rest, state: deepFreeze(state), continuation };
};

function pointsOf(before: Walked, after: Walked, options: WalkOptions): readonly CrashPoint[] {
  const nodes = before.next;
  const point = { step: after.steps.length, nodes };
  const { branches = {} } = before.continuation ?? {};
  const isFannedOut = nodes.some((node) => Object.hasOwn(branches, node));
  return [
    { ...point, moment: 'before commit' },
    ...(isFannedOut ? [{ ...point, moment: 'before records' } as const] : []),
    ...(isOver(after, options) ? [] : [{ ...point, moment: 'after commit' } as const]),
  ];
}

function withoutFields(walked: Walked, names: readonly string[]): Walked {
  const values = Object.fromEntries(Object.entries(walked.state.values).filter(([name]) => !names.includes(name)));
  return { ...walked, state: { ...walked.state, values } };
}

function outcomeOf(walked: Walked, { rename }: KnownIds, { effects }: CrashSubject): object {
  const { state, steps, ended, next, interrupts, continuation } = walked;
  const context = state.context.map(({ timestamp: _, ...message }) => message);
  const thread = rename({
    state: { values: state.values, context },
    ...{ steps, ended, next, interrupts, continuation },
  });
  return { ...(thread as object), ...(effects && { effects: structuredClone(effects()) }) };
}

/** The records of one step, which outlive a crash, in memory. */
function createKeptRecords() {
  const branches = new Map<string, string>();
  const calls = new Map<string, ToolCallRecord | undefined>();
  return {
    branchRecords: {
      find: async (key) => branches.get(key),
      save: async (key, result) => void branches.set(key, result),
    } satisfies BranchRecords,
    toolCallRecords: {
      started: async (key) => {
        const isNew = !calls.has(key);
        if (isNew) calls.set(key, undefined);
        const record = calls.get(key);
        return { isNew, ...(record && { record }) };
      },
      ended: async (key, record) => void calls.set(key, record),
    } satisfies ToolCallRecords,
    /** The keys of the branches and tool calls that are not run again after a crash. */
    kept: () => new Set([...branches.keys(), ...calls.keys()]),
    /** As if the process had died before the first branch was on record. */
    forgetBranches: () => branches.clear(),
  };
}

/** A UUID, as the engine and fakes make it for messages and tool calls: another one in each attempt. */
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** What may be an id: a UUID, or a hash as LangGraph names a question by. */
const idLike = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}/g;

/**
 * Names for the ids that are new in each attempt: those of messages and of tool calls, and those in fields that are not compared. Two walks that
 * do the same give the same names, in the order in which the ids were first there. An id that the author chose stays as it is.
 */
interface KnownIds {
  /** Learns the ids of a context. */
  readonly learn: (context: readonly Message[]) => void;
  /** Learns each `id` within a value, at any depth: what is new in a field may stand elsewhere too. */
  readonly learnWithin: (value: unknown) => void;
  /** The value as JSON, with the names in place of the ids, wherever these stand. */
  readonly rename: (value: unknown) => unknown;
}

function createKnownIds(): KnownIds {
  const names = new Map<string, string>();
  const name = (id: string, what: string, pattern: RegExp): void => {
    if (!names.has(id) && id.replace(pattern, '') === '') names.set(id, `${what} ${String(names.size + 1)}`);
  };
  return {
    learn: (context) => {
      for (const { message_id: id, content } of context) {
        name(id, 'message', uuid);
        for (const call of content.filter(isCall)) name(call.id, 'call', uuid);
      }
    },
    learnWithin: (value) => {
      JSON.stringify(value, (key, part: unknown) => {
        if (key === 'id' && typeof part === 'string') name(part, 'id', idLike);
        return part;
      });
    },
    rename: (value) => JSON.parse(JSON.stringify(value).replace(idLike, (id) => names.get(id) ?? id)) as unknown,
  };
}
