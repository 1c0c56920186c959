import type { Backoff } from '@agent-workflow/kit/retry';
import { isRunFailure, messageOf } from '../state/failure.ts';
import { AnswersDiffer } from '../state/answers-differ.ts';
import { DeadlinePassed } from '../state/deadline.ts';
import { nameOf } from '../state/name-of.ts';
import { requireObject, refuseUnknown } from '../state/refuse-unknown.ts';

/** When a failed node is tried again, and after which wait. */
export interface RetryPolicy {
  /** How often the node is tried in all, the first time included: 1 or more. */
  readonly maxAttempts: number;
  /** The longest wait before the second attempt, in milliseconds: 500 unless given. */
  readonly initialDelayMs?: number;
  /** The longest wait, in milliseconds: 30,000 unless given. */
  readonly maxDelayMs?: number;
  /** The factor by which the wait grows from attempt to attempt: 2 unless given, at least 1. */
  readonly factor?: number;
  /** Whether a wait is drawn at random from 0 up to the delay, so that runs that fail at the same moment do not repeat at the same moment: true unless given. */
  readonly jitter?: boolean;
  /**
   * Whether to try again after this error. A timeout is an error named `TimeoutError`. Absent: after every error. It is not called
   * when the run was stopped or when the node returned something invalid, because neither is tried again.
   */
  readonly retryOn?: (error: unknown) => boolean;
}

/** How a node is run. */
export interface NodePolicy {
  readonly retry?: RetryPolicy;
  /** How long one attempt may take, in milliseconds. After that the attempt fails: its signal fires, and what it emits or returns later is dropped. */
  readonly timeoutMs?: number;
  /** How often any one node of a sub-graph may run each time that the sub-graph is run, 1 to 1000: 25 unless given. */
  readonly recursionLimit?: number;
  /** How many branches of the node run side by side when a route sends to it, 1 to 1000: 32 unless given. */
  readonly maxConcurrency?: number;
  /**
   * Whether the node, a function, may begin while the step before it is being committed. Nothing that it emits is published before that
   * commit, and its calls of `ctx.memory` and `ctx.files` wait for it. When the commit is refused or the run is stopped, the node's signal
   * fires. So a node that does nothing else, such as a question to a model, has the same effect as without this, and may be started for nothing.
   */
  readonly speculative?: boolean;
}

/** An attempt at a node did not finish within its timeout. */
export class NodeTimeout extends Error {
  override readonly name = 'TimeoutError';

  constructor(timeoutMs: number) {
    super(`did not finish within ${String(timeoutMs)} ms`);
  }
}

/** The waits between the attempts at a node, with the defaults of a policy. */
export function toBackoff({
  initialDelayMs = 500,
  maxDelayMs = 30_000,
  factor = 2,
  jitter = true,
}: RetryPolicy): Backoff {
  return { firstMs: initialDelayMs, maxMs: maxDelayMs, factor, jitter: jitter ? 1 : 0 };
}

/** Whether a node is tried again after this error. */
export function mayRetry({ retryOn = () => true }: RetryPolicy, error: unknown): boolean {
  // The deadline has passed, and the answers differ, for every attempt.
  if (isSettled(error) || (isRunFailure(error) && isSettled(error.cause))) return false;
  if (!isRunFailure(error)) return answerOf(retryOn, error);
  // A failure without a cause is a misuse found by the engine, which another attempt would only repeat.
  return error.code === 'NodeFailed' && error.cause !== undefined && answerOf(retryOn, error.cause);
}

const isSettled = (error: unknown): boolean => error instanceof DeadlinePassed || error instanceof AnswersDiffer;

/** @throws Error when `retryOn` gives a promise, which JavaScript lets pass: it would allow every attempt, whatever it says later. */
function answerOf(retryOn: (error: unknown) => boolean, error: unknown): boolean {
  const answer: unknown = retryOn(error);
  if (!(answer instanceof Promise)) return Boolean(answer);
  answer.catch(() => undefined);
  const why = 'retry.retryOn gives a promise: it must return at once';
  throw new Error(`${why}. The attempt failed with: ${messageOf(error)}`, { cause: error });
}

const policyNames: Readonly<Record<keyof NodePolicy, true>> = {
  retry: true,
  timeoutMs: true,
  recursionLimit: true,
  maxConcurrency: true,
  speculative: true,
};
const retryNames: Readonly<Record<keyof RetryPolicy, true>> = {
  maxAttempts: true,
  initialDelayMs: true,
  maxDelayMs: true,
  factor: true,
  jitter: true,
  retryOn: true,
};

/** @throws Error naming the first member that is unknown or whose value is out of its bounds. */
export function checkPolicy(node: string, policy: NodePolicy): void {
  const what = `the policy of node "${node}"`;
  requireObject(what, policy);
  refuseUnknown(what, '', policy, policyNames);
  const { retry, timeoutMs, recursionLimit, maxConcurrency } = policy;
  requireValidSpeculative(node, policy);
  if (retry) refuseUnknown(what, 'retry.', retry, retryNames);
  if (retry && !Object.hasOwn(retry, 'maxAttempts')) throw new Error(`retry of node "${node}" has no maxAttempts`);
  requireValidRetryOn(node, retry);
  const { maxAttempts, initialDelayMs, maxDelayMs, factor } = retry ?? {};
  for (const [name, value, least, most, whole] of [
    ['retry.maxAttempts', maxAttempts, 1, Number.MAX_SAFE_INTEGER, true],
    ['retry.initialDelayMs', initialDelayMs, 0, maxTimerMs, false],
    ['retry.maxDelayMs', maxDelayMs, 0, maxTimerMs, false],
    ['retry.factor', factor, 1, Number.MAX_SAFE_INTEGER, false],
    ['timeoutMs', timeoutMs, 1, maxTimerMs, false],
    ['recursionLimit', recursionLimit, 1, 1000, true],
    ['maxConcurrency', maxConcurrency, 1, 1000, true],
  ] as const) {
    if (value === undefined) continue;
    // An author in JavaScript may give anything.
    const given: unknown = value;
    const isNumber = typeof given === 'number';
    if (isNumber && value >= least && value <= most && (!whole || Number.isInteger(value))) continue;
    const kind = whole ? 'a whole number' : 'a number';
    throw new Error(
      `${name} of node "${node}" is ${isNumber ? String(value) : JSON.stringify(given)}: it must be ${kind} from ${least} to ${most}`,
    );
  }
}

function requireValidSpeculative(node: string, { speculative }: { readonly speculative?: unknown }): void {
  if (speculative === undefined || typeof speculative === 'boolean') return;
  throw new Error(`speculative of node "${node}" is ${JSON.stringify(speculative)}: it must be true or false`);
}

function requireValidRetryOn(node: string, { retryOn }: { readonly retryOn?: unknown } = {}): void {
  if (retryOn === undefined || typeof retryOn === 'function') return;
  throw new Error(`retry.retryOn of node "${node}" must be a function, not ${nameOf(retryOn)}`);
}

/** The longest time that a timer of Node can wait. */
const maxTimerMs = 2 ** 31 - 1;
