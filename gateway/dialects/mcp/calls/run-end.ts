import { shownFields } from '@agent-workflow/protos/hidden-fields';
import type { RunEvent } from '@agent-workflow/protos/execution';
import type { EndStatus } from '@agent-workflow/protos/lists';
import { isCall, type Message } from '@agent-workflow/protos/message';
import { dataOf } from '../../common/event-data.ts';
import type { Fields } from '../wire/fields.ts';
import { withoutBreakpoints, type Question } from './questions.ts';

/** How a run ended. */
export type RunEnd =
  | { readonly kind: 'completed' | 'stopped'; readonly messages: readonly Message[]; readonly state: Fields }
  | { readonly kind: 'asks'; readonly questions: readonly Question[] }
  /** It waits for tools of its caller, or stands before a node. */
  | { readonly kind: 'waits'; readonly calls: readonly string[] }
  /** `isOfNode`: its node has failed, and not what runs it. */
  | { readonly kind: 'failed'; readonly message: string; readonly isOfNode: boolean };

interface EndData {
  readonly messages?: readonly Message[];
  readonly all_messages?: readonly Message[];
  readonly state?: Fields;
  readonly meta?: { readonly status?: EndStatus; readonly interrupts?: readonly Question[] };
}

/** What the last event of a run says. */
export function runEndOf(event: RunEvent): RunEnd {
  const data = dataOf(event);
  if (event.kind !== 'on_chain_end') {
    const { code, message } = data as { readonly code: string; readonly message: string };
    return { kind: 'failed', message, isOfNode: ofNodes.has(code) };
  }
  const { messages = [], all_messages: all = [], state = {}, meta = {} } = data as EndData;
  const { status, interrupts = [] } = meta;
  if (status !== 'interrupted')
    return { kind: status === 'stopped' ? 'stopped' : 'completed', messages: all, state: ownFields(state) };
  const questions = withoutBreakpoints(interrupts);
  if (questions.length > 0) return { kind: 'asks', questions };
  const calls = messages.flatMap(({ content }) => content.filter(isCall).map(({ name }) => name));
  return { kind: 'waits', calls };
}

/** Codes of runs that failed by what their agent or their caller does. */
const ofNodes: ReadonlySet<string> = new Set(['NODE_ERROR', 'BAD_REQUEST', 'VALIDATION_ERROR', 'CONFLICT']);

function ownFields(state: Fields): Fields {
  const { context: _context, context_summary: _summary, ...own } = shownFields(state);
  return own;
}
