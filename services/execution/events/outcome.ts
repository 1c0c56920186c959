import type { EndStatus } from '@agent-workflow/protos/lists';
import type { ClaimedRun } from '@agent-workflow/protos/threads';
import type { Message } from '@agent-workflow/protos/message';
import { callingMessage, openCalls } from '@agent-workflow/graph/state/calls';
import type { Interrupt } from '@agent-workflow/graph/run/interrupt';
import type { EngineState } from '@agent-workflow/graph/state/state';
import type { Added } from '../record/added.ts';
import { shownAt } from './granularity.ts';

/** How a run ended, and what its last event says of it. */
export interface Outcome {
  readonly status: Exclude<EndStatus, 'failed'>;
  readonly iterations: number;
  readonly recursionLimitReached: boolean;
  readonly added: Added;
  readonly state: EngineState;
  /** The questions of an interrupted run. */
  readonly interrupts: readonly Interrupt[];
}

type RunIdentity = Pick<ClaimedRun, 'runId' | 'threadId' | 'requestId' | 'granularity' | 'isNewThread' | 'resumes'>;

/** Fields in alphabetical order. The record keeps no order, and every worker must write the same bytes for one step. */
export const inOrder = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).toSorted(([one], [other]) => (one < other ? -1 : 1)));

/**
 * The result of invoke, which is also the data of a run's last event: the fields of `first`, the state, the fields of `last`, in this
 * order. Neither `first` nor `last` is empty, because the event writer joins their JSON texts.
 */
export interface InvokeResult {
  readonly first: Readonly<Record<string, unknown>>;
  /** Replies show it with the context among its fields and once more beside them. Absent at granularity `low`. */
  readonly state?: EngineState;
  readonly last: Readonly<Record<string, unknown>>;
}

export function toInvokeResult(run: RunIdentity, outcome: Outcome, at: number): InvokeResult {
  const { status, iterations, recursionLimitReached, added, state, interrupts } = outcome;
  const reply = replyOf(outcome);
  const shown = shownAt[run.granularity];
  return {
    first: {
      messages: reply ? [reply] : [],
      all_messages: added.messages,
      ...(added.isPartial ? { all_messages_truncated: true } : {}),
    },
    ...(shown.state ? { state } : {}),
    last: {
      ...(shown.summary ? { summary: state.values['context_summary'] } : {}),
      iterations,
      recursion_limit_reached: recursionLimitReached,
      metadata: { message: status, request_id: run.requestId, timestamp: new Date(at).toISOString() },
      meta: {
        thread_id: run.threadId,
        run_id: run.runId,
        is_new_thread: run.isNewThread,
        status,
        ...(run.resumes === undefined ? {} : { resumes: run.resumes }),
        ...(interrupts.length === 0 ? {} : { interrupts }),
      },
    },
  };
}

/** The last assistant message of this run; of an interrupted run the one with the caller's open tool calls, without the answered ones. */
function replyOf({ status, added, state }: Outcome): Message | undefined {
  const last = added.reply;
  if (status !== 'interrupted') return last;
  const caller = callingMessage(state.context);
  if (!caller || caller.message_id === last?.message_id) return last;
  const open = new Set(openCalls(state.context).map(({ id }) => id));
  return {
    ...caller,
    content: caller.content.filter((block) => block.type !== 'remote_tool_call' || open.has(String(block['id']))),
  };
}
