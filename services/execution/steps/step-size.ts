import { bytesOver, jsonQuotes, sizes } from '@agent-workflow/kit/sizes';
import type { MessageEntry } from '@agent-workflow/protos/threads';
import { RunFailure } from '@agent-workflow/graph/state/failure';
import { onlyNode, type StepNodes } from '../record/committed-step.ts';
import { bytesOfFields, type StateSize } from '../record/state-size.ts';

/** The size of the state after a step, and what the step adds. @throws RunFailure when the step or the state exceeds a size limit. */
export function checkedSize(
  before: StateSize,
  messages: readonly MessageEntry[],
  changed: Readonly<Record<string, Uint8Array>>,
  ran: StepNodes,
): { readonly grown: StateSize; readonly addedBytes: number } {
  const refuse = (what: string, bytes: number, bound: number): void => {
    refuseOver(what, bytes, bound, ran);
  };
  refuseMany('messages', messages.length, sizes.stepMessages, ran);
  const entries = Object.entries(changed).map(([name, json]) => [name, json.byteLength] as const);
  refuseMany('changed fields', entries.length, sizes.stepFields, ran);
  let added = 0;
  for (const { messageId, json } of messages) {
    refuse('a message', json.byteLength, sizes.message);
    added += Buffer.byteLength(messageId) + json.byteLength;
  }
  refuse('context_summary', changed['context_summary']?.byteLength ?? 0, sizes.summary + jsonQuotes);
  const fields = entries.length === 0 ? before.fields : { ...before.fields, ...Object.fromEntries(entries) };
  refuse('the state', bytesOfFields(fields), sizes.state);
  const addedBytes = added + entries.reduce((sum, [, bytes]) => sum + bytes, 0);
  refuse('a step', addedBytes, sizes.step);
  return { grown: { messages: before.messages + added, fields }, addedBytes };
}

function refuseOver(what: string, bytes: number, bound: number, { nodes }: StepNodes): void {
  if (bytes <= bound) return;
  throw new RunFailure('NodeFailed', `${what} has ${bytesOver(bytes, bound)}`, onlyNode(nodes));
}

function refuseMany(what: string, count: number, bound: number, { nodes }: StepNodes): void {
  if (count <= bound) return;
  throw new RunFailure(
    'NodeFailed',
    `a step has ${String(count)} ${what}, more than ${String(bound)}`,
    onlyNode(nodes),
  );
}
