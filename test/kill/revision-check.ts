import { revisionIn, type Phase } from './revision-plan.ts';

/** A phase that has begun. */
export interface BegunPhase extends Phase {
  /** From when on every replica knows the routing, in milliseconds since 1970. */
  readonly knownAt: number;
}

export interface RevisedRun {
  readonly threadId: string;
  /** The phase in which it was started. */
  readonly phase: number;
  /** When it was started, in milliseconds since 1970. */
  readonly begun: number;
  readonly status: string;
  readonly expectedStatus: string;
  /** On its record. */
  readonly revision: string;
  /** The revision at which each of its steps ran. */
  readonly steps: readonly string[];
  /** How many steps it has, by its revision. */
  readonly expectedSteps: number;
  /** Of an answer: the revision that is to serve it. Other runs go where their thread is routed. */
  readonly answeredBy?: string;
}

interface Checked {
  readonly faults: readonly string[];
  readonly shares: readonly string[];
  /** Runs that were started once their routing was known: each is held to one revision. */
  readonly exact: number;
  /** Threads that had three runs or more in a phase, each counted for every such phase. */
  readonly visited: number;
  /** How often a thread went from one revision to another. */
  readonly changes: number;
}

/** How far the share of a ramping revision may be from what was asked for, in percent. */
const tolerance = 2;
/** Of fewer threads the share is a matter of chance. */
const fewestThreads = 500;
const severalRuns = 3;

/** Holds runs, in the order of their starts, against the phases: see the README. */
export function checkRuns(runs: readonly RevisedRun[], phases: readonly BegunPhase[]): Checked {
  const inOrder = runs.toSorted((a, b) => a.begun - b.begun);
  const routed = inOrder.filter(({ answeredBy }) => answeredBy === undefined);
  const known = routed.filter((run) => isKnown(run, phases));
  const shares = phases.map((phase, index) => shareIn(known, phase, index)).filter((share) => share !== undefined);
  const changes = changesOf(routed);
  return {
    faults: [
      ...inOrder.flatMap((run) => [...faultsOf(run), ...misroutedOf(run, phases)]),
      ...changes.faults,
      ...shares.flatMap(({ fault }) => fault ?? []),
    ],
    shares: shares.map(({ text }) => text),
    exact: known.length,
    visited: [...countBy(routed, ({ threadId, phase }) => `${phase} ${threadId}`).values()].filter(
      (count) => count >= severalRuns,
    ).length,
    changes: changes.count,
  };
}

/** It ended as it should, and each of its steps ran once, at the revision on its record. */
function faultsOf({ threadId, status, expectedStatus, revision, steps, expectedSteps }: RevisedRun): string[] {
  const isWhole = steps.length === expectedSteps && steps.every((step) => step === revision);
  return [
    ...(status === expectedStatus ? [] : [`a run of ${threadId} ended as ${status}, not as ${expectedStatus}`]),
    ...(isWhole
      ? []
      : [`a run of ${threadId} at ${revision} has steps of ${steps.join(', ')}, and should have ${expectedSteps}`]),
  ];
}

const isKnown = ({ begun, phase }: RevisedRun, phases: readonly BegunPhase[]): boolean =>
  begun >= (phases[phase]?.knownAt ?? Infinity);

/** It went to the revision that its thread is routed to; until the routing is known everywhere, to that or the one before. */
function misroutedOf(run: RevisedRun, phases: readonly BegunPhase[]): string[] {
  const { threadId, phase, revision, answeredBy } = run;
  const routed = [phase, ...(isKnown(run, phases) ? [] : [phase - 1])].map((index) =>
    revisionIn(phases[index], threadId),
  );
  const allowed = answeredBy === undefined ? routed : [answeredBy];
  if (allowed.includes(revision)) return [];
  return [`a run of ${threadId} in phase ${phase} went to ${revision}, not to ${allowed.join(' or ')}`];
}

/** A thread changes its revision at most once for each change of the routing. */
function changesOf(runs: readonly RevisedRun[]): { readonly faults: readonly string[]; readonly count: number } {
  const last = new Map<string, string>();
  const changes = new Map<string, string[]>();
  for (const { threadId, phase, revision } of runs) {
    const before = last.get(threadId);
    last.set(threadId, revision);
    if (before === undefined || before === revision) continue;
    const key = `thread ${threadId} in phase ${phase}`;
    changes.set(key, [...(changes.get(key) ?? [before]), revision]);
  }
  const several = [...changes].filter(([, path]) => path.length > 2);
  return {
    faults: several.map(([key, path]) => `${key} went from ${path.join(' to ')}`),
    count: [...changes.values()].reduce((sum, path) => sum + path.length - 1, 0),
  };
}

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}

interface Share {
  readonly text: string;
  readonly fault?: string;
}

function shareIn(known: readonly RevisedRun[], { ramping }: Phase, index: number): Share | undefined {
  const threads = new Map(known.filter(({ phase }) => phase === index).map((run) => [run.threadId, run.revision]));
  if (!ramping || threads.size === 0) return undefined;
  const served = [...threads.values()].filter((revision) => revision === ramping.revision).length;
  const percent = (100 * served) / threads.size;
  const text = `${ramping.percent} %: ${percent.toFixed(1)} % of ${threads.size} threads`;
  if (threads.size < fewestThreads || Math.abs(percent - ramping.percent) <= tolerance) return { text };
  return { text, fault: `the share of ${ramping.revision} was ${percent.toFixed(1)} %, not ${ramping.percent}` };
}
