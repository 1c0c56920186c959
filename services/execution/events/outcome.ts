import type { EndStatus } from '@agent-workflow/protos/lists';
import type { ClaimedRun } from '@agent-workflow/protos/threads';
import type { Message } from '@agent-workflow/protos/message';
import type { Added } from '../record/added.ts';
import { callingMessage, openCalls } from '@agent-workflow/graph/state/calls';
import type { Interrupt } from '@agent-workflow/graph/run/interrupt';
import type { EngineState } from '@agent-workflow/graph/state/state';
import { shownAt } from './granularity.ts';

/** How a run ended, as far as it is not told by its events before. */
export interface Outcome {
  readonly status: Exclude<EndStatus, 'failed'>;
  readonly iterations: number;
  readonly recursionLimitReached: boolean;
  readonly added: Added;
  readonly state: EngineState;
  /** What an interrupted run asks. */
  readonly interrupts: readonly Interrupt[];
}

type RunIdentity = Pick<ClaimedRun, 'runId' | 'threadId' | 'requestId' | 'granularity' | 'isNewThread' | 'resumes'>;

/** Fields in alphabetical order: the record keeps no other, and whoever tells of them is to say the same bytes. */
export const inOrder = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).toSorted(([one], [other]) => (one < other ? -1 : 1)));

/** What invoke answers with, and what a run's last event says. */
export interface InvokeResult {
  readonly first: Readonly<Record<string, unknown>>;
  /** The state, which replies show with the context among its fields and beside them; absent at granularity low. */
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

/** The last assistant message of this run, or the one whose calls the caller is to answer, with only the open ones in it. */
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
