import type { AgentItem } from '@agent-workflow/client';
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { client, token } from './session.ts';

/** The agents of the service, as far as they are known: neither field is there while they are read. */
export interface KnownAgents {
  readonly list?: readonly AgentItem[];
  /** Why they could not be read. */
  readonly error?: unknown;
}

export const knownAgents = signal<KnownAgents>({});

/** The reading that counts, and the token that it was begun with. */
let reading: { readonly token: string; readonly done: Promise<void> } | undefined;

/** Reads the agents, unless they are known or are being read: they are the same until the page is loaded again, or somebody signs in. */
export async function readAgents(): Promise<void> {
  if (reading?.token !== token.peek()) {
    knownAgents.value = {};
    reading = { token: token.peek(), done: read(token.peek()) };
  }
  await reading.done;
}

async function read(begunWith: string): Promise<void> {
  const note = (known: KnownAgents): void => {
    if (reading?.token === begunWith) knownAgents.value = known;
  };
  try {
    note({ list: (await client.agents.list()).agents });
  } catch (error) {
    note({ error });
    // It is tried again by the next that asks.
    if (reading?.token === begunWith) reading = undefined;
  }
}

/** Has the agents read. A component that calls it is drawn again when they are there. */
export function useAgents(): KnownAgents {
  useEffect(() => void readAgents(), [token.value]);
  return knownAgents.value;
}

/** The agents where the service has several; none where it has one, and while they are not known. */
export function useSeveralAgents(): readonly AgentItem[] {
  const { list = [] } = useAgents();
  return list.length > 1 ? list : [];
}
