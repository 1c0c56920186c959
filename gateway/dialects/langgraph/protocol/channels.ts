import { invalidAt, type Loc } from '../../../http/fields.ts';

/** What a subscription may hold, by the protocol's names. `custom:<name>` is one too: what nodes report under a name. */
const channels = [
  'values',
  'updates',
  'messages',
  'tools',
  'lifecycle',
  'input',
  'checkpoints',
  'tasks',
  'custom',
] as const;
export type Channel = (typeof channels)[number];

/** What a subscription asks for. */
export interface Subscription {
  readonly channels: ReadonlySet<string>;
  /** Whether it asks for what is not of a sub-graph: all that the record has. */
  readonly hasRoot: boolean;
}

interface AskedFor {
  readonly channels: readonly string[];
  readonly namespaces?: readonly (readonly string[])[] | undefined;
  readonly depth?: number | undefined;
}

const ofName = 'custom:';

const isChannel = (word: string): boolean =>
  (channels as readonly string[]).includes(word) || (word.startsWith(ofName) && word.length > ofName.length);

/**
 * Reads what a subscription asks for. The steps of a sub-graph are one node in the record, so that its events have no namespace of their
 * own: a subscription to sub-graphs alone gets none.
 * @throws Invalid for a channel that there is not
 */
export function readSubscription({ channels: words, namespaces = [] }: AskedFor, loc: Loc): Subscription {
  const unknown = words.findIndex((word) => !isChannel(word));
  if (unknown !== -1)
    throw invalidAt([...loc, 'channels', unknown], `must be of ${channels.join(', ')}, or ${ofName}<name>`, 'enum');
  return {
    channels: new Set(words),
    hasRoot: namespaces.length === 0 || namespaces.some((prefix) => prefix.length === 0),
  };
}

/** Whether a subscription gets what nodes report under a name, or without one. */
export const wantsCustom = (asked: ReadonlySet<string>, name: string | undefined): boolean =>
  asked.has('custom') || (name !== undefined && asked.has(`${ofName}${name}`));

/** Whether a subscription asks for an event. */
export const wantsFrame = (
  { channels: asked, hasRoot }: Subscription,
  { channel, name }: { readonly channel: Channel; readonly name?: string | undefined },
): boolean => hasRoot && (channel === 'custom' ? wantsCustom(asked, name) : asked.has(channel));

/** Whether anything that nodes report is asked for. */
export const hasCustom = (asked: ReadonlySet<string>): boolean =>
  [...asked].some((word) => word === 'custom' || word.startsWith(ofName));

/** The digit of a channel in the ids of its events. */
export const digitOf = (channel: Channel): number => channels.indexOf(channel);
