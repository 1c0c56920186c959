import { isAgentName, isRevision } from '@agent-workflow/kit/agents';
import { idFault } from '@agent-workflow/protos/message';
import type { Msg } from 'nats';
import { highestPriority, type RunnableRun } from '../../../ports/queue.ts';
import { isRunId } from '../client/subject-text.ts';
import { readTrace } from './headers.ts';

/** A run as the payload of its message; its trace is in the headers. */
export const toRunPayload = (run: RunnableRun): Uint8Array => Buffer.from(JSON.stringify(withoutTrace(run)));

/**
 * The run of a message; `undefined` when the message is not one of this queue. Workers of other teams also send runs, and what is read here
 * becomes part of subjects and of messages that this process sends with more rights than they have.
 */
export function readRun(message: Msg): RunnableRun | undefined {
  const trace = readTrace(message);
  const run = parsed(message);
  return run && isRun(run) ? { ...withoutTrace(run), ...(trace ? { trace } : {}) } : undefined;
}

/** More than the longest user id takes. */
const maxOwnerBytes = 1024;

/** Before its fields are checked, a run may hold anything. */
type Unchecked = Readonly<Partial<Record<keyof RunnableRun, unknown>>>;

const isRun = (run: RunnableRun): boolean => {
  const { owner, threadId, runId, agent, revision, takeoverEpoch, priority }: Unchecked = run;
  return (
    isOwner(owner) &&
    isThreadId(threadId) &&
    isRunId(runId) &&
    (agent === undefined || (typeof agent === 'string' && isAgentName(agent))) &&
    (revision === undefined || (typeof revision === 'string' && isRevision(revision))) &&
    (takeoverEpoch === undefined || (Number.isSafeInteger(takeoverEpoch) && Number(takeoverEpoch) >= 0)) &&
    (priority === undefined || isPriority(priority))
  );
};

const isPriority = (value: unknown): boolean =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= highestPriority;

const isOwner = (owner: unknown): boolean =>
  typeof owner === 'string' &&
  owner !== '' &&
  owner.length <= maxOwnerBytes &&
  Buffer.byteLength(owner) <= maxOwnerBytes &&
  owner.isWellFormed();

const isThreadId = (id: unknown): boolean => typeof id === 'string' && idFault(id) === undefined;

const withoutTrace = ({
  owner,
  threadId,
  runId,
  agent,
  revision,
  takeoverEpoch,
  priority = 0,
}: RunnableRun): RunnableRun => ({
  owner,
  threadId,
  runId,
  ...(agent === undefined ? {} : { agent }),
  ...(revision === undefined ? {} : { revision }),
  ...(takeoverEpoch === undefined ? {} : { takeoverEpoch }),
  ...(priority === 0 ? {} : { priority }),
});

function parsed(message: Msg): RunnableRun | undefined {
  try {
    const value = message.json<unknown>();
    return typeof value === 'object' && value !== null ? (value as RunnableRun) : undefined;
  } catch {
    return undefined;
  }
}
