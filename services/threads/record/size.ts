import { invalid } from '@agent-workflow/kit/errors';
import { bytesOver, sizes } from '@agent-workflow/kit/sizes';
import { contextTooLarge, stateTooLarge } from '@agent-workflow/protos/refusals';
import type { Change, Snapshot } from '../ports/changes.ts';
import type { Head, ThreadSize } from '../ports/record.ts';

export const emptySize: ThreadSize = { fields: 0, context: 0 };

/** A message's share of the context's size: its JSON, and the comma or bracket after it. */
const sizeOfMessage = (json: Uint8Array): number => json.byteLength + 1;

const sizeOfField = (name: string, json: Uint8Array): number => Buffer.byteLength(name) + json.byteLength;

export const sizeOfFields = (fields: Readonly<Record<string, Uint8Array>>): number =>
  Object.entries(fields).reduce((sum, [name, json]) => sum + sizeOfField(name, json), 0);

type Sized = Pick<Change, 'fields' | 'messages' | 'removedFromContext' | 'deleted' | 'clearState'>;

/**
 * The size after a change. The snapshot holds the fields that the change writes, and the entries that it replaces, deletes or
 * takes out of the context.
 */
export function sizeAfter(
  { size }: Pick<Head, 'size'>,
  change: Sized,
  snapshot: Pick<Snapshot, 'entries' | 'fields'>,
): ThreadSize {
  if (change.clearState) return emptySize;
  return {
    fields: fieldsAfter(size.fields, change, snapshot.fields),
    context: contextAfter(size.context, change, snapshot.entries),
  };
}

function fieldsAfter(bytes: number, { fields = {} }: Sized, known: Snapshot['fields']): number {
  let after = bytes;
  for (const [name, json] of Object.entries(fields)) {
    const before = Object.hasOwn(known, name) ? known[name] : undefined;
    if (before) after -= sizeOfField(name, before);
    if (json) after += sizeOfField(name, json);
  }
  return after;
}

function contextAfter(bytes: number, change: Sized, known: Snapshot['entries']): number {
  const { messages = [], removedFromContext = [], deleted = [] } = change;
  if (messages.length + removedFromContext.length + deleted.length === 0) return bytes;
  const inContext = new Map<number, number>();
  for (const entry of known.values()) if (entry.inContext) inContext.set(entry.position, sizeOfMessage(entry.json));
  let after = bytes;
  for (const { position, json } of messages) {
    after += sizeOfMessage(json) - (inContext.get(position) ?? 0);
    inContext.set(position, sizeOfMessage(json));
  }
  for (const position of [...removedFromContext, ...deleted]) {
    after -= inContext.get(position) ?? 0;
    inContext.delete(position);
  }
  return after;
}

/** Where a write's messages and fields stand in the request that brought them. */
export interface SizePlaces {
  readonly messages: readonly (string | number)[];
  readonly fields: readonly (string | number)[];
}

/**
 * Refuses a change that makes state fields or context grow beyond their bounds. What is larger already may shrink.
 * @throws Invalid naming the field; its type names the bound.
 */
export function refuseGrowth(before: ThreadSize, after: ThreadSize, at: SizePlaces): void {
  if (after.fields > sizes.state && after.fields > before.fields)
    throw invalid(at.fields, `all fields together would have ${bytesOver(after.fields, sizes.state)}`, stateTooLarge);
  if (after.context > sizes.context && after.context > before.context)
    throw invalid(at.messages, `the context would have ${bytesOver(after.context, sizes.context)}`, contextTooLarge);
}

/** Why a run cannot begin with this context; `undefined` when it can. */
export const refusalToBegin = ({ context }: ThreadSize): string | undefined =>
  context > sizes.contextWithInput
    ? `the context would have ${bytesOver(context, sizes.contextWithInput)}: delete messages or clear the state`
    : undefined;
