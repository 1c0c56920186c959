import type { Change } from './diff.ts';

/** What changed in one field of the state. */
export interface ChangedField {
  readonly name: string;
  readonly changes: readonly Change[];
  /** Values that are new, and values that are gone: one that changed is both. */
  readonly added: number;
  readonly removed: number;
}

/** The changes of each field that has some, in their order. */
export function changedFields(changes: readonly Change[]): readonly ChangedField[] {
  const byName = Map.groupBy(changes, ({ path }) => String(path[0] ?? ''));
  return [...byName].map(([name, some]) => ({
    name,
    changes: some,
    added: some.filter(({ kind }) => kind !== 'removed').length,
    removed: some.filter(({ kind }) => kind !== 'added').length,
  }));
}

/** The fields that both states have and in which nothing changed. */
export function unchangedFields(after: unknown, changed: readonly ChangedField[]): readonly string[] {
  if (typeof after !== 'object' || after === null) return [];
  const names = new Set(changed.map(({ name }) => name));
  return Object.keys(after).filter((name) => !names.has(name));
}

/** A message of a state as people read it: its role, its text, and the tools that it calls; `undefined` for any other value. */
export function messageText(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('role' in value) || !('content' in value)) return undefined;
  const { role, content } = value;
  if (typeof role !== 'string' || !Array.isArray(content)) return undefined;
  const texts = content.flatMap((block: unknown) => blockText(block) ?? []);
  return texts.length === 0 ? undefined : `${role}: ${texts.join('')}`;
}

function blockText(block: unknown): string | undefined {
  if (typeof block !== 'object' || block === null) return undefined;
  if ('text' in block && typeof block.text === 'string') return block.text;
  if ('name' in block && typeof block.name === 'string') return `calls ${block.name}`;
  return 'call_id' in block && 'output' in block ? `result ${JSON.stringify(block.output)}` : undefined;
}
