import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { field, type Field } from '@agent-workflow/graph';
import type { LangGraph } from './compiled.ts';
import { hasLoadable, plainData } from './plain-data.ts';

/** What is used of a channel of LangGraph. */
interface Channel {
  readonly lc_graph_name?: string;
  readonly accumulate?: boolean;
  readonly operator?: (current: unknown, update: unknown) => unknown;
  readonly initialValueFactory?: () => unknown;
}

/** Names that mean something to the service. A channel of one is kept with the checkpoint. */
const reserved = new Set(['context', 'context_summary', 'messages', 'removed_from_context']);

/** Channels whose value is there from their first write on. Others come and go with super-steps, and are kept with the checkpoint. */
const lasting = new Set(['LastValue', 'AnyValue', 'BinaryOperatorAggregate']);

/** Whether the value of a channel outlives a new input of the graph: that of one which passes values to the next super-step alone does not. */
export function isLasting({ channels }: LangGraph, name: string): boolean {
  if (!Object.hasOwn(channels, name)) return false;
  const { lc_graph_name: kind = '', accumulate = false } = channels[name] as Channel;
  return !passing.has(kind) && (kind !== 'Topic' || accumulate);
}

const passing = new Set(['EphemeralValue', 'UntrackedValue']);

/**
 * The channels of a graph as fields of the state. What callers write to one passes the channel's reducer.
 * `given` are the author's own words on some of them.
 */
export function channelFields(
  { channels }: LangGraph,
  messagesKey: string | null,
  given: Readonly<Record<string, Field<unknown>>>,
): Readonly<Record<string, Field<unknown>>> {
  const names = Object.keys(channels).filter((name) => {
    const kind = (channels[name] as Channel).lc_graph_name ?? '';
    return name !== messagesKey && !/^__|:/.test(name) && !reserved.has(name) && lasting.has(kind);
  });
  return Object.fromEntries(names.map((name) => [name, toField(channels[name] as Channel, given[name])]));
}

function toField({ operator, initialValueFactory }: Channel, given: Field<unknown> | undefined): Field<unknown> {
  const { default: fallback = initialOf(initialValueFactory), ...spec } = given?.spec ?? { type: 'any' as const };
  const reducer =
    operator &&
    ((current: unknown, update: unknown): unknown => {
      if (current === undefined) return plainData(update);
      // Only nodes bring such objects into a field, and as plain data they would be lost.
      if (hasLoadable(current))
        throw new Error('it holds objects of LangChain, such as messages, to which only nodes of the graph add');
      return operator(current, plainData(update));
    });
  return field<unknown>({ ...spec, ...(fallback !== undefined && { default: fallback }), ...(reducer && { reducer }) });
}

/** The first value of a channel, where it is JSON. */
function initialOf(make: (() => unknown) | undefined): unknown {
  try {
    const value = make?.();
    return value !== undefined && isDeepStrictEqual(value, JSON.parse(JSON.stringify(value))) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A short hash of a field's JSON. */
export const hashOfJson = (json: string): string => createHash('sha256').update(json).digest('base64url').slice(0, 22);
