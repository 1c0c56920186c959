import type { Json, JsonObject, Message, RunEvent } from '@agent-workflow/client';
import { counted } from '../../../ui/format.ts';
import { clockTime } from '../../../ui/time-text.ts';
import { jsonStart } from '../../../ui/json-start.ts';
import { isObject, statusOf } from './run-log.ts';

/** What a row of the list says of an event. */
interface EventSummary {
  /** What happened, in a few words. */
  readonly title: string;
  /** What it holds; may be empty. */
  readonly text: string;
}

/** A row shows so many characters at most. */
const maxText = 240;

/** What was made before: an event may be large, and its row is drawn often. */
const summaries = new WeakMap<RunEvent, EventSummary>();

/** One line for an event. It never fails, whatever the event holds. */
export function summaryOf(event: RunEvent): EventSummary {
  const before = summaries.get(event);
  if (before !== undefined) return before;
  const { title, text } = summaryOfKind(event, isObject(event.data) ? event.data : {});
  const summary = { title, text: text.length > maxText ? `${text.slice(0, maxText)} …` : text };
  summaries.set(event, summary);
  return summary;
}

function summaryOfKind(event: RunEvent, data: JsonObject): EventSummary {
  switch (event.event) {
    case 'metadata':
      return { title: 'The log begins', text: data['rebuilt'] === true ? 'rebuilt from the record' : '' };
    case 'on_chain_start':
      return { title: 'A worker has begun', text: '' };
    case 'on_chain_stream':
      return statusSummary(data);
    case 'messages_chunk':
      return messageSummary(event);
    case 'state_chunk':
      return { title: 'State changed', text: asText(event.data) };
    case 'context_chunk':
      return { title: 'Context changed', text: contextText(data) };
    case 'summary_chunk':
      return { title: 'New summary', text: asText(event.data) };
    case 'on_chain_end':
      return { title: `The run ended: ${statusOf(event)}`, text: iterationsText(data) };
    case 'error':
      return { title: 'The run failed', text: asText(data['message'] ?? event.data) };
    default:
      return { title: asText(event.event), text: asText(event.data) };
  }
}

function statusSummary({ node, status, attempt, branch, takeover, wake_at: wakeAt, custom }: JsonObject): EventSummary {
  const name = `${asText(node)}${typeof branch === 'number' ? ` (branch ${String(branch)})` : ''}`;
  switch (status) {
    case 'restarted':
      return {
        title: `${name} restarted`,
        text:
          takeover === true || attempt === 1 ? 'its worker was lost' : `attempt ${asText(attempt)}, after a failure`,
      };
    case 'sleeping':
      return {
        title: `${name} sleeps`,
        text: typeof wakeAt === 'string' ? `until ${clockTime(Date.parse(wakeAt))}` : '',
      };
    case 'progress':
      return { title: `${name} reports`, text: asText(custom) };
    default:
      return { title: `${name} ${asText(status)}`, text: '' };
  }
}

function messageSummary({ data, message, metadata }: RunEvent): EventSummary {
  const role = asText(message?.role ?? metadata['role'] ?? '');
  if (message) return { title: `Whole message${role && ` of the ${role}`}`, text: textOfMessage(message) };
  if (typeof data === 'string') return { title: 'Text', text: data };
  return { title: `Block ${asText(isObject(data) ? data['type'] : '')}`, text: asText(data) };
}

const textOfMessage = ({ content }: Message): string =>
  content.map((block) => (block.type === 'text' ? asText(block['text']) : `[${block.type}]`)).join(' ');

function contextText({ messages, removed }: JsonObject): string {
  const count = (list: Json): number => (Array.isArray(list) ? list.length : 0);
  return `${String(count(messages))} added or replaced, ${String(count(removed))} removed`;
}

function iterationsText({ iterations, recursion_limit_reached: isLimited }: JsonObject): string {
  const limit = isLimited === true ? ', the recursion limit was reached' : '';
  return typeof iterations === 'number' ? `${counted(iterations, 'iteration')}${limit}` : '';
}

function asText(value: Json): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : jsonStart(value, maxText + 1).text;
}
