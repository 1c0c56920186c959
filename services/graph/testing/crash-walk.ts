import type { RunContext } from '../build/context.ts';
import type { CompiledGraph } from '../build/graph.ts';
import { deepFreeze } from '../state/state.ts';
import { createCrashScope } from './crash-scope.ts';
import { requireGraph } from './given-walk.ts';
import { createKeptRecords, type KeptRecords } from './kept-records.ts';
import { createKnownIds, type KnownIds } from './known-ids.ts';
import { beginWalk, isOver, walkStep, type Walked, type WalkOptions } from './walk.ts';

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
  let walked = beginWalk(graph, own);
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
      walked = walked.steps.length === 0 ? beginWalk(graph, own) : readAgain(walked);
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

function keptAt(moment: CrashPoint['moment'], { forgetBranches, kept }: KeptRecords): ReadonlySet<string> {
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
