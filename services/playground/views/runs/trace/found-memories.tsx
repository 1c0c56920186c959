import type { Memory, MemoryScope } from '@agent-workflow/client';
import { useLoaded } from '../../../session/loaded.ts';
import { toHash } from '../../../session/route.ts';
import { client } from '../../../session/session.ts';
import { grouped } from '../../../ui/format.ts';

interface FoundMemoriesProps {
  readonly ids: readonly string[];
  /** What was searched for; empty where it is not known. */
  readonly search: string;
}

/** So many are named by their words; the others by their number. */
const maxNamed = 8;

/** The memories that a node or a tool has found, by the beginnings of their texts; each leads to the memory, and says why it was found. */
export function FoundMemories({ ids, search }: FoundMemoriesProps) {
  const named = ids.slice(0, maxNamed);
  const { state } = useLoaded((signal) => Promise.all(named.map((id) => read(id, signal))), [named.join()]);
  const query = search === '' ? {} : { search };
  return (
    <section class="span-section" aria-label="Memories that it found">
      <h3>Memories that it found</h3>
      <ul class="span-memories">
        {named.map((id, at) => (
          <li key={id}>
            <a href={toHash({ view: 'memory', ...addressOf(id, query) })} dir="auto">
              {state.value.value?.[at]?.content.slice(0, maxText) ?? id}
            </a>
          </li>
        ))}
      </ul>
      {ids.length > maxNamed && <p class="hint">and {grouped(ids.length - maxNamed)} more</p>}
    </section>
  );
}

/** More characters are not shown. */
const maxText = 200;

/** The scope and the id of a memory as a span names it: `SCOPE/ID`, or the id alone. */
function partsOf(named: string): { readonly id: string; readonly scope?: MemoryScope } {
  const at = named.indexOf('/');
  return at < 0 ? { id: named } : { id: named.slice(at + 1), scope: named.slice(0, at) as MemoryScope };
}

function addressOf(named: string, query: Readonly<Record<string, string>>) {
  const { id, scope } = partsOf(named);
  return { id, query: { ...query, ...(scope !== undefined && { scope }) } };
}

/** A memory; nothing of one that is forgotten. */
function read(named: string, signal: AbortSignal): Promise<Memory | undefined> {
  const { id, scope } = partsOf(named);
  return client.memories.get(id, { scope, signal }).then(
    ({ memory }) => memory,
    () => undefined,
  );
}
