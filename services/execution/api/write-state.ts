import { conflict, invalid, isServiceError, type ServiceError } from '@agent-workflow/kit/errors';
import { createKeyedLock } from '@agent-workflow/kit/keyed-lock';
import { retry, type Backoff } from '@agent-workflow/kit/retry';
import type { Call } from '@agent-workflow/protos/call';
import type { UpdateStateRequest } from '@agent-workflow/protos/execution';
import type { Message } from '@agent-workflow/protos/message';
import type { State, StateCalls } from '@agent-workflow/protos/threads';
import type { KnownAgents } from '../record/known-agents.ts';
import { fromJson } from '../record/json.ts';
import { agentNamed } from './agents.ts';
import { applyReplacement, applyUpdate, messageField, withFields } from './update-state.ts';
import type { ReduceByWorker } from './reduce-by-worker.ts';

/** Writes state for a caller. */
type WriteState = (request: UpdateStateRequest, call: Call) => Promise<State>;

/**
 * A write reads the state, passes it through the reducers, here or at a worker of the agent, and is refused by the record when another write came first. So the
 * writes of one thread are made one after another in each replica, and only those of other replicas can come between. A refused
 * write reads again after a random pause, until its caller's deadline is near. Each refusal means that the write of another
 * replica was made, and each replica makes one at a time.
 */
export function createStateWriter(
  threads: Pick<StateCalls, 'getState' | 'writeState'>,
  known: KnownAgents,
  reduce: ReduceByWorker,
): WriteState {
  const oneAtATime = createKeyedLock();

  const write = async (request: UpdateStateRequest, call: Call): Promise<State> => {
    const { owner, threadId, stateJson: _, expectedVersion, replaces = false, ...rest } = request;
    const { removedFromContext: given = [], ...naming } = rest;
    const current = await threads.getState({ owner, threadId }, call);
    if (expectedVersion !== undefined && expectedVersion !== current.version) throw movedOn(request);
    const agent = await agentNamed(known, current.agent, { thread: { owner, threadId } });
    const update = fromJson(request.stateJson) as Readonly<Record<string, unknown>>;
    const reduceElsewhere = async (fields: State['fields'], given: Readonly<Record<string, unknown>>) =>
      reduce(agent, { current: fields, given }, call);
    const change = { agent, current, update, reduceElsewhere };
    const { fields, messages } = replaces
      ? { fields: await applyReplacement(change), messages: [] }
      : await applyUpdate(change);
    const removedFromContext = removedIds(given, current);
    const write = {
      owner,
      threadId,
      expectedVersion: current.version,
      fields,
      messages,
      removedFromContext,
      ...naming,
    };
    return withFields(
      threads.writeState({ ...write, skipsNothing: replaces }, call),
      messageField(['state', 'context'], messages.length, false),
    );
  };

  /**
   * The state that an earlier call of the same request has written: it must not be written a second time.
   * @throws Conflict when there was no such call.
   */
  const writtenBefore = async (
    { owner, threadId, stateJson: _, expectedVersion: _version, replaces: _how, ...rest }: UpdateStateRequest,
    call: Call,
  ): Promise<State> => {
    const { removedFromContext: _removed, settles: _settles, ...naming } = rest;
    const nothing = { expectedVersion: noVersion, fields: {}, messages: [] };
    return threads.writeState({ owner, threadId, ...nothing, ...naming }, call);
  };

  const writeInTurn = async (request: UpdateStateRequest, call: Call): Promise<State> =>
    retry(async () => write(request, call), {
      ...afterConflict,
      signal: call.signal,
      deadline: call.deadline - lastTryMs,
      mayHelp: isOvertaken,
    }).catch(async (error: unknown) =>
      writtenBefore(request, call).catch(() => {
        throw error;
      }),
    );

  return (request, call) =>
    oneAtATime(JSON.stringify([request.owner, request.threadId]), () => writeInTurn(request, call));
}

/** The messages that leave the context. @throws Invalid naming one that is not part of it */
function removedIds(given: readonly string[], { contextJson }: State): readonly string[] {
  if (given.length === 0) return given;
  const ids = (fromJson(contextJson) as readonly Message[]).map(({ message_id: id }) => id);
  if (given.includes(allMessages)) return ids;
  const known = new Set(ids);
  const absent = given.find((id) => !known.has(id));
  if (absent === undefined) return given;
  throw invalid(['state', 'context'], `has no message "${absent}" to remove`, 'value_error');
}

const allMessages = '__remove_all__';

const movedOn = ({ threadId, expectedVersion }: UpdateStateRequest): ServiceError =>
  conflict(`thread "${threadId}" has moved on from checkpoint "${String(expectedVersion)}": read its state again`);

/** No thread has this version: a write that expects it is always refused. */
const noVersion = -1;

/** Pauses that are random as a whole, so that the replicas that write one thread do not meet again. */
const afterConflict: Backoff = { firstMs: 5, maxMs: 100, jitter: 1 };
/** Time reserved for the last attempt, in milliseconds, so that the caller gets the conflict and not a timeout. */
const lastTryMs = 500;

/** Whether another write came first. Another conflict, an active run, is no reason to try again. */
const isOvertaken = (error: unknown): boolean =>
  isServiceError(error, 'Conflict') && error.details.some(({ type }) => type === 'version_conflict');
