import { sizes } from '@agent-workflow/kit/sizes';
import type { AskedBy } from '../out/task.ts';
import type { A2aMessage } from '../schemas/messages.ts';

/** What the record keeps of the request for a run, for the history of its task. A message of more than 64 KiB of JSON is left out. */
export function toKept({ messageId, parts, metadata }: A2aMessage): Readonly<Record<string, unknown>> {
  const kept = { api: 'a2a', message: { messageId, parts, ...(metadata && { metadata }) } satisfies AskedBy };
  return Buffer.byteLength(JSON.stringify(kept)) <= sizes.shownRequest ? kept : { api: 'a2a' };
}

/** Characters of a message that a stream holds in memory until it begins. */
const shortLength = 4096;

/** A message as the history of its task has it; `undefined` for a long one, which is read from the record. */
export function shortOf({ messageId, parts, metadata }: A2aMessage): AskedBy | undefined {
  const message = { messageId, parts, ...(metadata && { metadata }) };
  return JSON.stringify(message).length <= shortLength ? message : undefined;
}

/** The same as it was kept; `undefined` for a run of another dialect. */
export function fromKept(json: string | undefined): AskedBy | undefined {
  if (json === undefined) return undefined;
  const { api, message } = JSON.parse(json) as { readonly api?: unknown; readonly message?: AskedBy };
  return api === 'a2a' ? message : undefined;
}
