import { setTimeout as delay } from 'node:timers/promises';
import { isServiceError } from '@agent-workflow/kit/errors';
import { createKeyedLock } from '@agent-workflow/kit/keyed-lock';
import type { Call } from '@agent-workflow/protos/call';
import type { UpdateStateRequest } from '@agent-workflow/protos/execution';
import type { State, Threads } from '@agent-workflow/protos/threads';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import { fromJson } from '../record/run-options.ts';
import { applyUpdate } from './update-state.ts';

/** Writes of state as callers ask for them. */
export type WriteState = (graph: CompiledGraph, request: UpdateStateRequest, call: Call) => Promise<State>;

/**
 * A write reads the state, passes it through the reducers, and is refused by the record when another write came first. So
 * writes of one thread stand in line here: each is tried by itself, and only writes of other replicas can come between. A
 * write that was refused reads again after a pause with a share of chance, until its caller's deadline is near: each refusal
 * means that another replica's write was made, and of those there is one at a time for each replica.
 */
export function createStateWriter(threads: Pick<Threads, 'getState' | 'writeState'>): WriteState {
  const inLine = createKeyedLock();

  const write = async (graph: CompiledGraph, request: UpdateStateRequest, call: Call): Promise<State> => {
    const { owner, threadId, stateJson: _, ...naming } = request;
    const current = await threads.getState({ owner, threadId }, call);
    const update = fromJson(request.stateJson) as Readonly<Record<string, unknown>>;
    const { fields, messages } = applyUpdate(graph, current, update);
    const { version: expectedVersion } = current;
    return threads.writeState({ owner, threadId, expectedVersion, fields, messages, ...naming }, call);
  };

  /**
   * The state that an earlier call of the same request has left: what it wrote may not be taken a second time.
   * @throws Conflict when there was none.
   */
  const writtenBefore = async (
    { owner, threadId, stateJson: _, ...naming }: UpdateStateRequest,
    call: Call,
  ): Promise<State> => {
    const nothing = { expectedVersion: noVersion, fields: {}, messages: [] };
    return threads.writeState({ owner, threadId, ...nothing, ...naming }, call);
  };

  const writeInTurn = async (graph: CompiledGraph, request: UpdateStateRequest, call: Call): Promise<State> => {
    for (let tries = 1; ; tries++) {
      call.signal.throwIfAborted();
      try {
        return await write(graph, request, call);
      } catch (error) {
        const pauseMs = Math.random() * Math.min(firstPauseMs * tries, maxPauseMs);
        if (!isOvertaken(error) || Date.now() + pauseMs + lastTryMs > call.deadline) {
          return await writtenBefore(request, call).catch(() => {
            throw error;
          });
        }
        await delay(pauseMs, undefined, { signal: call.signal });
      }
    }
  };

  return (graph, request, call) =>
    inLine(JSON.stringify([request.owner, request.threadId]), () => writeInTurn(graph, request, call));
}

/** Of no thread: a write that expects it is never taken. */
const noVersion = -1;

const firstPauseMs = 5;
const maxPauseMs = 100;
/** What the last try may take: a caller is told of the conflict rather than of its deadline, in milliseconds. */
const lastTryMs = 500;

/** Whether another write came first; a run that holds the thread is no reason to try again. */
const isOvertaken = (error: unknown): boolean =>
  isServiceError(error, 'Conflict') && error.details.some(({ type }) => type === 'version_conflict');
