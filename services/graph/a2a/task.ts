import type { Block } from '@agent-workflow/protos/message';
import { isObject, type Fields } from './object.ts';

/** What is known of the task of another agent. It stands in the state of the run, so that any worker goes on with it. */
export interface RemoteTask {
  readonly id: string;
  readonly contextId: string;
  readonly state: string;
  /** The id of what the agent says with its state; empty where it says nothing. */
  readonly messageId: string;
  /** What the agent says with its state: a question, or why it failed. */
  readonly message: Fields | null;
}

/** A reply of the agent: a task, or a message, which is an answer without one. @throws Error for anything else */
export function readReply(result: unknown): { readonly task: RemoteTask; readonly blocks: readonly Block[] } {
  const { task, message } = isObject(result) ? result : {};
  if (isObject(message))
    return {
      task: { id: '', contextId: '', state: 'TASK_STATE_COMPLETED', messageId: '', message: null },
      blocks: blocksOf(message),
    };
  return readTask(task);
}

/** @throws Error for what is no task */
export function readTask(task: unknown): { readonly task: RemoteTask; readonly blocks: readonly Block[] } {
  const { id, contextId, status, artifacts } = isObject(task) ? task : {};
  const { state, message } = isObject(status) ? status : {};
  if (typeof id !== 'string' || typeof state !== 'string') throw new Error('the reply of the agent is no task');
  return {
    task: {
      ...{ id, state, contextId: typeof contextId === 'string' ? contextId : '' },
      message: isObject(message) ? message : null,
      messageId: isObject(message) && typeof message['messageId'] === 'string' ? message['messageId'] : '',
    },
    blocks: Array.isArray(artifacts) ? artifacts.flatMap((artifact: unknown) => blocksOf(artifact)) : [],
  };
}

/** The parts of an artifact or a message as blocks. */
function blocksOf(holder: unknown): readonly Block[] {
  const parts: readonly unknown[] = isObject(holder) && Array.isArray(holder['parts']) ? holder['parts'] : [];
  return parts.flatMap((part) => (isObject(part) ? toBlock(part) : []));
}

function toBlock({ text, data, url, raw, mediaType, filename }: Fields): readonly Block[] {
  if (typeof text === 'string') return text === '' ? [] : [{ type: 'text', text }];
  if (data !== undefined) return [{ type: 'data', data }];
  const more = {
    ...(typeof mediaType === 'string' && mediaType !== '' && { media_type: mediaType }),
    ...(typeof filename === 'string' && filename !== '' && { filename }),
  };
  if (typeof url === 'string') return [{ type: 'file', url, ...more }];
  return typeof raw === 'string' ? [{ type: 'file', data: raw, ...more }] : [];
}

/** The texts of a message in one. */
export const textIn = (message: Fields | null): string =>
  blocksOf(message ?? {})
    .flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
    .join('\n');

/** What the agent asks: its text, and its data where there is some. */
export function questionIn({ message }: RemoteTask, agent: string): Fields {
  const data = blocksOf(message ?? {}).flatMap((block) => (block.type === 'data' ? [block['data']] : []));
  return { type: 'a2a', agent, message: textIn(message), ...(data.length > 0 && { data }) };
}

/** An answer as the parts of a message: a text as it is, anything else as data. */
export const partsOf = (answer: unknown): readonly object[] =>
  typeof answer === 'string' ? [{ text: answer }] : [{ data: answer ?? null }];
