import { isCompiledGraph, type CompiledGraph } from '../build/graph.ts';
import { messageOf } from '../state/failure.ts';
import { nameOf } from '../state/name-of.ts';
import { requireObject } from '../state/refuse-unknown.ts';
import { walkToCrash, type CrashPoint, type CrashSubject, type CrashWalk } from './crash-walk.ts';
import { differences } from './differences.ts';
import { requireGraph } from './given-walk.ts';
import type { Walked, WalkOptions } from './walk.ts';

/** Options of each walk. Their hooks are called in every one of them. */
export interface CrashOptions extends Omit<WalkOptions, 'branchRecords' | 'toolCallRecords'> {
  /** Fields of the state that are new in each attempt, and so are not compared: `langgraph` of an agent that `fromLangGraph` made. */
  readonly ignoredFields?: readonly string[];
}

export interface CrashReport {
  /** The walk without a crash. */
  readonly walked: Walked;
  /** The number of crashes that were tried, each in a walk of its own. */
  readonly crashes: number;
  /** How walks with a crash differ from the one without: a line for each place. Empty when the agent survives all of them. */
  readonly differences: readonly string[];
}

/** Differences of one cause are many; the first are reported. */
const maxLines = 50;

/**
 * Walks once without a crash, then crashes at each step in turn, and compares state, context, steps, questions and effects. A crash is
 * before the commit of the step, so that its nodes run again, or after it; what goes on is a new process that has read the thread from
 * JSON. As in the service, results of branches and calls of `replay: 'once'` tools that are on record are not made again; a step with
 * branches also crashes before any of them is on record. Ids and times that are new in each attempt are not compared.
 *
 * It finds nodes that another attempt does not repeat: those that use random numbers, keep data in variables, or have
 * effects without an idempotency key. A fake that answers from a script is given as a function, which makes all of it for each walk.
 * @example
 * const { differences } = await walkWithCrashes(() => {
 *   const bookings = new Map<string, number>();
 *   return { graph: () => createAgent(bookings), effects: () => bookings };
 * });
 * @throws what the walk without a crash throws; Error naming what is given where it is no graph and makes none.
 */
export async function walkWithCrashes(
  subject: CompiledGraph | (() => CompiledGraph | CrashSubject),
  given: CrashOptions = {},
): Promise<CrashReport> {
  requireObject('what walkWithCrashes is given after the graph', given);
  const { ignoredFields = [], ...options } = given;
  if (!Array.isArray(ignoredFields))
    throw new Error(`ignoredFields of walkWithCrashes must be a list of names, not ${nameOf(ignoredFields)}`);
  // All walks begin at the same time, so that what sleeps wakes at the same one.
  const timed = { time: options.from?.time ?? Date.now(), ...options };
  const walkWhole = async (at?: CrashPoint): Promise<CrashWalk> =>
    walkToCrash(toSubject(subject), { options: timed, ignoredFields, at });
  const { walked, outcome: expected, points } = await walkWhole();
  const again = differencesOf('a second walk without a crash', (await walkWhole()).outcome, expected);
  // Each walk with a crash would report the same.
  if (again.length > 0) return { walked, crashes: 0, differences: again };
  const lines: string[] = [];
  for (const point of points) {
    if (lines.length < maxLines) lines.push(...(await crashedLines(point, walkWhole, expected)));
  }
  return { walked, crashes: points.length, differences: lines.slice(0, maxLines) };
}

function toSubject(given: Parameters<typeof walkWithCrashes>[0]): CrashSubject {
  const made = typeof given === 'function' ? given() : given;
  if (isCompiledGraph(made)) return { graph: made };
  requireSubject(made);
  return made;
}

/** What JavaScript lets pass: nothing at all, a promise, and effects that no function gives. */
function requireSubject(made: unknown): void {
  if (typeof made !== 'object' || made === null || made instanceof Promise)
    throw new Error(
      `what walkWithCrashes is given must be a compiled graph, or a function that makes one or { graph, effects }, not ${nameOf(made)}`,
    );
  if (!('graph' in made)) requireGraph(made);
  const effects = 'effects' in made ? made.effects : undefined;
  if (effects !== undefined && typeof effects !== 'function')
    throw new Error(`effects of walkWithCrashes must be a function, not ${nameOf(effects)}`);
}

async function crashedLines(
  point: CrashPoint,
  walkWhole: (at: CrashPoint) => Promise<CrashWalk>,
  expected: unknown,
): Promise<readonly string[]> {
  const place = placeOf(point);
  try {
    return differencesOf(place, (await walkWhole(point)).outcome, expected);
  } catch (error) {
    return [`${place}: the walk failed: ${messageOf(error)}`];
  }
}

const differencesOf = (place: string, outcome: object, expected: unknown): readonly string[] =>
  Object.keys(outcome).flatMap((part) =>
    differences(part, partOf(outcome, part), partOf(expected, part)).map((line) => `${place}: ${line}`),
  );

const partOf = (outcome: unknown, part: string): unknown => (outcome as Readonly<Record<string, unknown>>)[part];

const moments = {
  'before commit': 'a crash before the commit of',
  'before records': 'a crash before any branch was on record in',
  'after commit': 'a crash after the commit of',
} as const;

const placeOf = ({ step, nodes, moment }: CrashPoint): string =>
  `${moments[moment]} step ${String(step)} (${nodes.join(', ')})`;
