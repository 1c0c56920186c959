import { isCall, type Message } from '@agent-workflow/protos/message';

/** A UUID, as the engine and fakes make it for messages and tool calls: another one in each attempt. */
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/**
 * Names for the ids that are new in each attempt: those of messages and of tool calls. Two walks that do the same give the same names,
 * in the order in which the ids were first in the context. An id that the author chose stays as it is.
 */
export interface KnownIds {
  /** Learns the ids of a context. */
  readonly learn: (context: readonly Message[]) => void;
  /** The value as JSON, with the names in place of the ids, wherever these stand. */
  readonly rename: (value: unknown) => unknown;
}

export function createKnownIds(): KnownIds {
  const names = new Map<string, string>();
  const learn = (id: string, what: string): void => {
    if (!names.has(id) && id.replace(uuid, '') === '') names.set(id, `${what} ${String(names.size + 1)}`);
  };
  return {
    learn: (context) => {
      for (const { message_id: id, content } of context) {
        learn(id, 'message');
        for (const call of content.filter(isCall)) learn(call.id, 'call');
      }
    },
    rename: (value) =>
      JSON.parse(JSON.stringify(value), (_key, part: unknown) =>
        typeof part === 'string' ? part.replace(uuid, (id) => names.get(id) ?? id) : part,
      ) as unknown,
  };
}
