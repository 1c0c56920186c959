import { isCall, type Message } from '@agent-workflow/protos/message';

/** A UUID, as the engine and fakes make it for messages and tool calls: another one in each attempt. */
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** What may be an id: a UUID, or a hash as LangGraph names a question by. */
const idLike = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}/g;

/**
 * Names for the ids that are new in each attempt: those of messages and of tool calls, and those in fields that are not compared. Two walks that
 * do the same give the same names, in the order in which the ids were first there. An id that the author chose stays as it is.
 */
export interface KnownIds {
  /** Learns the ids of a context. */
  readonly learn: (context: readonly Message[]) => void;
  /** Learns each `id` within a value, at any depth: what is new in a field may stand elsewhere too. */
  readonly learnWithin: (value: unknown) => void;
  /** The value as JSON, with the names in place of the ids, wherever these stand. */
  readonly rename: (value: unknown) => unknown;
}

export function createKnownIds(): KnownIds {
  const names = new Map<string, string>();
  const name = (id: string, what: string, pattern: RegExp): void => {
    if (!names.has(id) && id.replace(pattern, '') === '') names.set(id, `${what} ${String(names.size + 1)}`);
  };
  return {
    learn: (context) => {
      for (const { message_id: id, content } of context) {
        name(id, 'message', uuid);
        for (const call of content.filter(isCall)) name(call.id, 'call', uuid);
      }
    },
    learnWithin: (value) => {
      JSON.stringify(value, (key, part: unknown) => {
        if (key === 'id' && typeof part === 'string') name(part, 'id', idLike);
        return part;
      });
    },
    rename: (value) => JSON.parse(JSON.stringify(value).replace(idLike, (id) => names.get(id) ?? id)) as unknown,
  };
}
