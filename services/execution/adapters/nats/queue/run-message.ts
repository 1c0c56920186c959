import type { Msg } from 'nats';
import type { RunnableRun } from '../../../ports/queue.ts';
import { readTrace } from './headers.ts';

/** A run as the payload of its message; its trace is in the headers. */
export const toRunPayload = (run: RunnableRun): Uint8Array => Buffer.from(JSON.stringify(withoutTrace(run)));

/** The run of a message; `undefined` when the message is not one of this queue. */
export function readRun(message: Msg): RunnableRun | undefined {
  const trace = readTrace(message);
  const run = parsed(message);
  const isRun = [run?.owner, run?.threadId, run?.runId].every((text) => typeof text === 'string');
  return run && isRun ? { ...withoutTrace(run), ...(trace ? { trace } : {}) } : undefined;
}

const withoutTrace = ({ owner, threadId, runId, agent, revision, takeoverEpoch }: RunnableRun): RunnableRun => ({
  owner,
  threadId,
  runId,
  ...(agent === undefined ? {} : { agent }),
  ...(revision === undefined ? {} : { revision }),
  ...(takeoverEpoch === undefined ? {} : { takeoverEpoch }),
});

function parsed(message: Msg): RunnableRun | undefined {
  try {
    return message.json<RunnableRun>();
  } catch {
    return undefined;
  }
}
