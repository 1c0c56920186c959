import { eachOf } from '@agent-workflow/kit/each';
import { sizes } from '@agent-workflow/kit/sizes';
import type { Usage } from '@agent-workflow/protos/usage';
import { RunFailure } from '../state/failure.ts';
import { deepFreeze } from '../state/state.ts';
import { continuationAfter } from './after-step.ts';
import { earliest, resultAsleep } from './asleep.ts';
import { underOwnSignal } from './attempt.ts';
import type { NodeOutput } from '../state/merge.ts';
import type { Branch, NodeResult } from './continuation.ts';
import { keyOf } from './keys.ts';
import { endSpan, runNode, runUnder } from './node.ts';
import { failSpan } from '../trace/span-error.ts';
import { aheadOf, hold, seenBy } from './held.ts';
import { resultJson } from './result-json.ts';
import type { RunStep, Step } from './super-step.ts';
import { openUsageReports } from './usage-reports.ts';

const defaultConcurrency = 32;

/**
 * Runs the branches of a node side by side, each under the policy of the node, and joins what they give in their order. With records, each
 * result is stored as soon as it is there, and a step that runs again runs only the branches without one.
 * @throws RunFailure of the first branch that fails; the signals of the others fire.
 */
export async function runBranches(
  step: Step,
  node: string,
  branches: readonly Branch[],
  runStep: RunStep,
): Promise<NodeResult> {
  const { maxConcurrency = defaultConcurrency } = step.graph.policies.get(node) ?? {};
  const results = new Map<Branch, NodeResult>();
  const countBytes = boundBytes(node);
  const span = step.span?.begin('node', { name: node });
  await underOwnSignal({ signal: step.run.signal }, async (signal) => {
    const { promise: failed, reject: fail } = Promise.withResolvers<never>();
    const under = { ...step, span, run: runUnder(step, signal), streamsReturned: true };
    const ahead = aheadOf(branches.map(({ held }) => held));
    const left = branches.filter(({ held }) => !held?.done);
    const all = eachOf(left, maxConcurrency, async (branch) => {
      try {
        signal.throwIfAborted();
        results.set(branch, await runBranch(asSeenBy(under, ahead, branch), node, branch, { runStep, countBytes }));
      } catch (error) {
        // The others need not end first.
        fail(error);
        throw error;
      }
    });
    await Promise.race([all, failed]);
  }).catch((error: unknown) => {
    failSpan(span, error, step.run.signal);
    step.onBranchesLeft?.(
      node,
      branches.map((branch) => leftOf(branch, results.get(branch))),
    );
    throw error;
  });
  return endSpan(span, joinResults(node, branches, results));
}

/** A branch as it stands where another has failed: one that waits or sleeps begins again from where it was. */
function leftOf(branch: Branch, result: NodeResult | undefined): Branch {
  if (!result || result.waiting) return branch;
  const { index, held } = branch;
  return { index, input: null, held: { ...held, done: true, outputs: [...(held?.outputs ?? []), ...result.outputs] } };
}

/** A branch that begins again does not see what the others of its node have put on record. */
function asSeenBy(step: Step, ahead: ReadonlySet<string>, { held }: Branch): Step {
  if (ahead.size === 0 && !held) return step;
  return { ...step, state: seenBy(step.graph.fields, step.state, ahead, held) };
}

interface BranchOptions {
  readonly runStep: RunStep;
  readonly countBytes: (result: string) => void;
}

async function runBranch(
  step: Step,
  node: string,
  { index, input, at }: Branch,
  { runStep, countBytes }: BranchOptions,
): Promise<NodeResult> {
  const { report, reported } = openUsageReports({ signal: step.run.signal, onUsage: step.onUsage });
  const own: Step = {
    ...step,
    onUsage: report,
    ...{ nodes: [node], branch: index, input: deepFreeze(input), continuation: at },
    onProgress: (name, data) => step.onProgress?.(name, data, index),
    onRestart: (name, attempt) => step.onRestart?.(name, attempt, index),
    onFault: (fault) => step.onFault?.({ ...fault, branch: index }),
  };
  const asleep = resultAsleep(own, node);
  if (asleep) return asleep;
  const span = step.span?.begin('branch', { number: index });
  if (span?.keepsContent) span.add('input', input);
  // A sub-graph whose worker died begins at its start, and what its routes send may differ: only whole steps of the run have records.
  const records = step.within === undefined ? step.branchRecords : undefined;
  const key = keyOf(own, node);
  const found = readRecord(await records?.find(key), input);
  if (found) {
    const { result: known, usage } = found;
    countBytes(JSON.stringify(known));
    for (const one of usage) report(one);
    span?.note({ replayed: true });
    endSpan(span, known);
    // Whether its chunks reached the log before its worker died, the log alone knows.
    return deepFreeze({ ...known, streamed: [] });
  }
  const result = await runNode({ ...own, span }, node, runStep);
  if (result.waiting) return inBranch(result, index);
  const json = resultJson(inBranch(result, index), node);
  countBytes(json);
  await records?.save(key, `{"input":${JSON.stringify(input)},"usage":${JSON.stringify(reported())},"result":${json}}`);
  return deepFreeze(JSON.parse(json) as NodeResult);
}

/** The result of a branch on record. */
interface BranchRecord {
  readonly input: unknown;
  readonly result: NodeResult;
  readonly usage: Usage;
}

/** A result on record counts for the input alone with which it was made. */
function readRecord(record: string | undefined, input: unknown): BranchRecord | undefined {
  if (record === undefined) return undefined;
  const read = JSON.parse(record) as BranchRecord;
  return JSON.stringify(read.input) === JSON.stringify(input) ? read : undefined;
}

const inBranch = (result: NodeResult, branch: number): NodeResult => ({
  ...result,
  outputs: result.outputs.map((output) => ({ ...output, branch })),
});

/** The results of all branches are one step, and are refused as soon as they exceed its size limit. */
function boundBytes(node: string): (result: string) => void {
  let bytes = 0;
  return (result) => {
    bytes += Buffer.byteLength(result);
    if (bytes <= sizes.step) return;
    const what = `the branches of node "${node}" returned more than ${String(sizes.step)} bytes together`;
    const help = 'return less from each, as ids of what is stored elsewhere, or send fewer of them in one step';
    throw new RunFailure('NodeFailed', `${what}: ${help}`, { node });
  };
}

/**
 * Where one of several branches waits, what they gave is held until the last of them returns. Otherwise it is the result, in the order of
 * the branches.
 */
function joinResults(node: string, branches: readonly Branch[], results: ReadonlyMap<Branch, NodeResult>): NodeResult {
  const all = branches.map((branch) => ({ branch, result: results.get(branch) }));
  const list = all.flatMap(({ result }) => result ?? []);
  const waiting = list.filter((result) => result.waiting);
  const common = {
    streamed: list.flatMap((result) => result.streamed),
    openCalls: list.flatMap((result) => result.openCalls ?? []),
  };
  if (waiting.length === 0) {
    const outputs = all.flatMap(({ branch, result }) => [...(branch.held?.outputs ?? []), ...(result?.outputs ?? [])]);
    const streamedBefore = branches.flatMap(({ held }) => held?.streamed ?? []);
    return { ...common, outputs, waiting: false, ...(streamedBefore.length > 0 && { streamedBefore }) };
  }
  const wakeAt = earliest(waiting.map((result) => result.wakeAt));
  const isAlone = branches.length === 1;
  const outputs: NodeOutput[] = [];
  const after = all.map(({ branch, result }) => {
    if (!result) return branch;
    const kept = isAlone ? undefined : hold(branch.held, result, node);
    outputs.push(...(kept?.now ?? result.outputs));
    return { ...toWaiting(node, branch, result), ...(kept && { held: kept.held }) };
  });
  return { ...common, outputs, waiting: true, ...(wakeAt === undefined ? {} : { wakeAt }), branches: after };
}

/** What is left of a branch: of one that has returned, its place. */
function toWaiting(node: string, { index, input }: Branch, result: NodeResult): Branch {
  if (!result.waiting) return { index, input: null };
  const at = continuationAfter({ nodes: [node], results: [result] });
  return { index, input, ...(at && { at }) };
}
