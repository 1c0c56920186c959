import type { AgentItem } from '@agent-workflow/client';
import type { KnownAgents } from '../../session/agents.ts';

/** Which agent the next run of a chat goes to. */
export type AgentChoice =
  /** What the service or the thread says of it is being read. */
  | { readonly kind: 'unread'; readonly name?: undefined }
  /** There is nothing to choose. A name is one that the address has while the agents cannot be read. */
  | { readonly kind: 'none'; readonly name?: string | undefined }
  /** The thread belongs to it. */
  | { readonly kind: 'fixed'; readonly name: string }
  | OpenChoice;

/** The reader chooses. */
export interface OpenChoice {
  readonly kind: 'open';
  readonly agents: readonly AgentItem[];
  /** Absent while the reader has to choose. */
  readonly name?: string | undefined;
  /** What the address names and no agent is called. */
  readonly unknown?: string;
}

interface Chosen {
  readonly known: KnownAgents;
  /** The agent of the thread: `null` before its first run, `undefined` while it is not known. */
  readonly ofThread: string | null | undefined;
  /** The agent that the address names. */
  readonly asked: string | undefined;
}

/** A run names an agent only where the service has several: the one of the thread, else the one of the address, else the default. */
export function chooseAgent({ known: { list: agents, error }, ofThread, asked }: Chosen): AgentChoice {
  if (!agents)
    return error === undefined ? { kind: 'unread' } : { kind: 'none', name: ofThread === null ? asked : undefined };
  if (agents.length < 2) return { kind: 'none' };
  if (ofThread === undefined) return { kind: 'unread' };
  if (ofThread !== null) return { kind: 'fixed', name: ofThread };
  if (asked === undefined) return { kind: 'open', agents, name: agents.find((agent) => agent.is_default)?.name };
  const isKnown = agents.some(({ name }) => name === asked);
  return { kind: 'open', agents, ...(isKnown ? { name: asked } : { unknown: asked }) };
}

/** Why nothing can be sent until the reader has chosen; `undefined` when it can. */
export function reasonToChoose(choice: AgentChoice): string | undefined {
  if (choice.kind !== 'open' || choice.name !== undefined) return undefined;
  return choice.unknown === undefined
    ? 'Choose the agent that the message goes to: none is the default.'
    : `There is no agent “${choice.unknown}”. Choose one of those that there are.`;
}
