import { isMessage } from './from-lang-chain.ts';
import { fromRange, toRanges, type Places, type Range } from './message-ranges.ts';
import type { BaseMessage } from '@langchain/core/messages';

/** In place of messages of the thread within a list, so that they are stored once. */
interface Folded {
  readonly [mark]: readonly Range[];
}

/** The names of our own members begin with it. A name of the graph's that does so has it twice, so that none is taken for ours. */
const prefix = 'agent-workflow:';
const mark = `${prefix}messages` as const;

/** In place of a value that a channel holds. */
const channelMark = `${prefix}channel` as const;

interface Fold {
  /** The id in the thread of a message that the channel of the graph holds; `undefined` for any other. */
  readonly idOf: (message: BaseMessage) => string | undefined;
  readonly places: Places;
  /** The names of channels by their values, as far as these are objects. */
  readonly channels: ReadonlyMap<object, string>;
}

/** The value with messages of the thread, and values of channels, named in place of written. */
export function fold(value: unknown, options: Fold): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const channel = options.channels.get(value);
  if (channel !== undefined) return { [channelMark]: channel };
  if (Array.isArray(value)) return foldList(value, options);
  // LangGraph's serializer writes a `Send` without its mark, too.
  if ('lg_name' in value && value.lg_name === 'Send') return foldMembers({ ...value, lg_name: undefined }, options);
  return isPlain(value) ? foldMembers(value, options) : value;
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

const foldMembers = (value: object, options: Fold): object =>
  Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === undefined && name === 'lg_name' ? [] : [[quoted(name), fold(member, options)]],
    ),
  );

const quoted = (name: string): string => (name.startsWith(prefix) ? `${prefix}${name}` : name);
const unquoted = (name: string): string => (name.startsWith(prefix) ? name.slice(prefix.length) : name);

function foldList(list: readonly unknown[], options: Fold): unknown[] {
  const folded: unknown[] = [];
  let ids: string[] = [];
  const end = (): void => {
    const ranges = ids.length === 0 ? [] : toRanges(ids, options.places);
    if (ranges && ranges.length > 0) folded.push({ [mark]: ranges });
    ids = [];
  };
  for (const [index, item] of list.entries()) {
    // The same message twice is two of the list; several of one id are the results that the thread has in one message.
    if (item === list[index - 1]) end();
    const id = isMessage(item) ? options.idOf(item) : undefined;
    if (id !== undefined && options.places.positions.has(id)) ids.push(id);
    else {
      end();
      folded.push(fold(item, options));
    }
  }
  end();
  return folded;
}

interface Unfold {
  readonly places: Places;
  readonly messagesOf: (id: string) => readonly BaseMessage[];
  readonly channels: Readonly<Record<string, unknown>>;
  /** Whether a list of which nobody can say what is left is an error. Else it is left out. */
  readonly isStrict: boolean;
}

/**
 * The value that {@link fold} was given. Messages that have left the thread since are left out.
 * @throws Error when so many have left that nobody can say which of those that are there were in a list.
 */
export function unfold(value: unknown, options: Unfold): unknown {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => unfoldItem(item, options));
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value;
  if (channelMark in value) return options.channels[String(value[channelMark])];
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [unquoted(name), unfold(member, options)]));
}

function unfoldItem(item: unknown, options: Unfold): unknown[] {
  const isFolded = typeof item === 'object' && item !== null && mark in item;
  if (!isFolded) return [unfold(item, options)];
  return (item as Folded)[mark].flatMap((range) => {
    const ids = fromRange(range, options.places);
    if (!ids && options.isStrict)
      throw new Error(
        `the messages from "${range[0]}" to "${range[1]}", which a node is to read, were removed from the thread, and so were those around them: a new input begins anew`,
      );
    return (ids ?? []).flatMap((id) => [...options.messagesOf(id)]);
  });
}
