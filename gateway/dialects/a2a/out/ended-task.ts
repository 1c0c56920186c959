import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EndStatus } from '@agent-workflow/protos/lists';
import type { Message } from '@agent-workflow/protos/message';
import type { TaskIds } from '@agent-workflow/protos/task-status';
import { dataOf } from '../../common/event-data.ts';
import type { AddressOf } from '../../common/file-addresses.ts';
import { shownState } from './shown-state.ts';
import { toTask, type AskedBy, type Task } from './task.ts';

interface Ended extends TaskIds {
  readonly askedBy: AskedBy;
  /** The last event of its only run. */
  readonly end: RunEvent;
  readonly addressOf: AddressOf;
  readonly historyLength: number | undefined;
}

interface EndData {
  readonly all_messages: readonly Message[];
  readonly all_messages_truncated?: true;
  readonly state: Readonly<Record<string, unknown>>;
  readonly iterations: number;
  readonly recursion_limit_reached: boolean;
  readonly meta: { readonly status: EndStatus; readonly interrupts?: readonly unknown[] };
}

/** A task of one run that has just ended, as the record has it then; `undefined` where its last event does not say all. */
export function endedTask({ taskId, contextId, askedBy, end, addressOf, historyLength }: Ended): Task | undefined {
  if (end.kind !== 'on_chain_end') return undefined;
  const data = dataOf(end) as EndData;
  const { status, interrupts } = data.meta;
  if (data.all_messages_truncated || (status !== 'completed' && status !== 'interrupted')) return undefined;
  const asked = interrupts && { interruptsJson: JSON.stringify(interrupts) };
  const { iterations, recursion_limit_reached: recursionLimitReached, all_messages: messages } = data;
  const ending = { status, iterations, recursionLimitReached, ...asked };
  const run = { runId: taskId, status, updatedAt: end.at, end: ending };
  const isSilent = status === 'completed' && !messages.some(({ role }) => role === 'assistant');
  const fields = isSilent ? shownState(data.state) : undefined;
  return toTask({ taskId, contextId, runs: [{ run, askedBy, messages, fields }], addressOf, historyLength });
}
