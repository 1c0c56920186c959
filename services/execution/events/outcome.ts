import type { EndStatus, Granularity } from '@agent-workflow/protos/lists';
import type { ClaimedRun } from '@agent-workflow/protos/threads';
import { shownFields } from '@agent-workflow/protos/hidden-fields';
import { withoutProviderData, type Message } from '@agent-workflow/protos/message';
import { openRemoteCalls } from '@agent-workflow/graph/state/calls';
import type { Interrupt } from '@agent-workflow/graph/run/interrupt';
import type { EngineState } from '@agent-workflow/graph/state/state';
import { toUsageItem, type Usage } from '@agent-workflow/protos/usage';
import type { Added } from '../record/progress.ts';

/** What a granularity can show or hide. Messages, errors and the ends of runs are always shown. */
interface Shown {
  /** The state with the context, and what each step changed of them. */
  readonly state: boolean;
  /** The summary of the messages that were left out of the context. */
  readonly summary: boolean;
}

/** What the events and the result of a run show beside its messages. */
export const shownAt: Readonly<Record<Granularity, Shown>> = {
  low: { state: false, summary: false },
  partial: { state: true, summary: false },
  full: { state: true, summary: true },
};

/** How a run ended, and what its last event says of it. */
export interface Outcome {
  readonly status: Exclude<EndStatus, 'failed'>;
  readonly iterations: number;
  readonly recursionLimitReached: boolean;
  readonly added: Added;
  readonly state: EngineState;
  /** The tokens that the run took. */
  readonly usage: Usage;
  /** The questions of an interrupted run. */
  readonly interrupts: readonly Interrupt[];
}

type RunIdentity = Pick<ClaimedRun, 'runId' | 'threadId' | 'requestId' | 'granularity' | 'isNewThread' | 'resumes'>;

/** The fields that callers see, in alphabetical order. The record keeps no order, and every worker must write the same bytes for one step. */
export const inOrder = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(shownFields(fields)).toSorted(([one], [other]) => (one < other ? -1 : 1)));

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
  const { status, iterations, recursionLimitReached, added, state, usage, interrupts } = outcome;
  const replies = repliesOf(outcome);
  const shown = shownAt[run.granularity];
  return {
    first: {
      messages: replies.map(withoutProviderData),
      all_messages: added.messages.map(withoutProviderData),
      ...(added.isPartial ? { all_messages_truncated: true } : {}),
    },
    ...(shown.state ? { state } : {}),
    last: {
      ...(shown.summary ? { summary: state.values['context_summary'] } : {}),
      iterations,
      recursion_limit_reached: recursionLimitReached,
      metadata: {
        message: status,
        request_id: run.requestId,
        timestamp: new Date(at).toISOString(),
        ...(usage.length === 0 ? {} : { usage: toUsageItem(usage) }),
      },
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

/** The last assistant message of this run; of an interrupted one those with the caller's open tool calls, without the answered ones. */
function repliesOf({ status, added, state }: Outcome): readonly Message[] {
  const last = added.reply ? [added.reply] : [];
  if (status !== 'interrupted') return last;
  const callers = openRemoteCalls(state.context);
  return callers.length === 0 ? last : callers;
}
