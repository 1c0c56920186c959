import { invalid, ServiceError, unanswered, unavailable } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import type { ReduceRequest } from '../ports/code-calls.ts';

/** Bytes of JSON of one call at most: of a state, and of what it is given; and of a reply. */
export const maxReduceBytes = 2 * sizes.state + 64 * 1024;

type Called = Pick<ReduceRequest, 'agent' | 'revision'>;

const nameOf = ({ agent, revision }: Called): string =>
  revision === undefined ? `agent "${agent}"` : `agent "${agent}" at revision "${revision}"`;

/** No live worker holds the agent at the revision. */
export const noWorker = (called: Called): ServiceError =>
  unavailable(`no worker of ${nameOf(called)} is there to reduce the state: try again later`);

export const busyWorkers = (called: Called): ServiceError =>
  unavailable(`the workers of ${nameOf(called)} are busy: try again later`);

export const lostWorker = (called: Called): ServiceError =>
  unavailable(`the worker of ${nameOf(called)} was lost while it reduced the state: try again`);

export const lateWorker = (called: Called): ServiceError =>
  unanswered(`the worker of ${nameOf(called)} did not reduce the state in time`);

/** @throws Invalid when a call or a reply has more than {@link maxReduceBytes}. */
export function refuseLargeCall(bytes: number): void {
  if (bytes <= maxReduceBytes) return;
  const msg = `has ${String(bytes)} bytes together with what it is merged into, more than ${String(maxReduceBytes)}`;
  throw invalid(['state'], msg, 'too_large');
}

/** What the worker threw is for its log alone. */
export const failedCall = (cause?: unknown): ServiceError =>
  new ServiceError('Internal', 'the state could not be updated', { cause });
