/** How new runs are routed for a while. */
export interface Phase {
  readonly current: string;
  readonly ramping?: { readonly revision: string; readonly percent: number };
}

export interface RevisedRun {
  readonly threadId: string;
  /** The phase in which it was started. */
  readonly phase: number;
  /** When it was started, in milliseconds since 1970. */
  readonly begun: number;
  readonly status: string;
  /** On its record. */
  readonly revision: string;
  /** The revision at which each of its steps ran. */
  readonly steps: readonly string[];
}

interface Checked {
  readonly faults: readonly string[];
  readonly shares: readonly string[];
}

/** A replica knows a routing for so long, in milliseconds, beside the time that its change takes. */
const settleMs = 3000;
/** How far the share of a ramping revision may be from what was asked for, in percent. */
const tolerance = 2;
/** Of fewer threads the share is a matter of chance. */
const fewestThreads = 500;

/** Holds runs, in the order of their starts, against the phases: see the README. */
export function checkRuns(runs: readonly RevisedRun[], phases: readonly Phase[]): Checked {
  const inOrder = runs.toSorted((a, b) => a.begun - b.begun);
  const shares = phases.map((_, index) => shareIn(inOrder, phases, index)).filter((share) => share !== undefined);
  const faults = [
    ...inOrder.flatMap((run) => faultsOf(run)),
    ...changesOf(inOrder),
    ...shares.flatMap(({ fault }) => fault ?? []),
  ];
  return { faults, shares: shares.map(({ text }) => text) };
}

function faultsOf({ threadId, status, revision, steps }: RevisedRun): readonly string[] {
  const isAsked = threadId.startsWith('asked');
  const ends = status === 'completed' || (isAsked && status === 'interrupted');
  const mixed = steps.some((step) => step !== revision);
  return [
    ...(ends ? [] : [`a run of ${threadId} ended as ${status}`]),
    ...(mixed || steps.length === 0 ? [`a run of ${threadId} at ${revision} has steps of ${steps.join(', ')}`] : []),
  ];
}

/** A thread changes its revision at most once for each change of the routing. */
function changesOf(runs: readonly RevisedRun[]): readonly string[] {
  const last = new Map<string, RevisedRun>();
  const faults: string[] = [];
  for (const run of runs.filter(({ threadId }) => !threadId.startsWith('asked'))) {
    const before = last.get(run.threadId);
    if (before && before.revision !== run.revision && before.phase === run.phase && isBetween(run, before, runs))
      faults.push(
        `thread ${run.threadId} went from ${before.revision} to ${run.revision} within a phase in which nothing was routed anew`,
      );
    last.set(run.threadId, run);
  }
  return faults;
}

/** Whether both were started when the routing of their phase was known everywhere. */
const isBetween = (run: RevisedRun, before: RevisedRun, runs: readonly RevisedRun[]): boolean =>
  isSettled(before, beginOf(runs, run.phase));

const beginOf = (runs: readonly RevisedRun[], phase: number): number =>
  runs.find((run) => run.phase === phase)?.begun ?? Infinity;

const isSettled = ({ begun }: RevisedRun, phaseBegan: number): boolean => begun >= phaseBegan + settleMs;

interface Share {
  readonly text: string;
  readonly fault?: string;
}

function shareIn(runs: readonly RevisedRun[], phases: readonly Phase[], index: number): Share | undefined {
  const phase = phases[index];
  const began = beginOf(runs, index);
  const settled = runs.filter(
    (run) => run.phase === index && !run.threadId.startsWith('asked') && isSettled(run, began),
  );
  const { current, ramping = { revision: current, percent: 100 } } = phase ?? { current: '' };
  const astray = settled.find(({ revision }) => revision !== current && revision !== ramping.revision);
  if (astray) return { text: '', fault: `a run of ${astray.threadId} went to ${astray.revision}, in phase ${index}` };
  if (!phase?.ramping || settled.length === 0) return undefined;
  const threads = new Map(settled.map(({ threadId, revision }) => [threadId, revision]));
  const served = [...threads.values()].filter((revision) => revision === ramping.revision).length;
  const percent = (100 * served) / threads.size;
  const text = `${ramping.percent} %: ${percent.toFixed(1)} % of ${threads.size} threads`;
  if (threads.size < fewestThreads || Math.abs(percent - ramping.percent) <= tolerance) return { text };
  return { text, fault: `the share of ${ramping.revision} was ${percent.toFixed(1)} %, not ${ramping.percent}` };
}
