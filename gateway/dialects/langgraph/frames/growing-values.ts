import type { Message } from '@agent-workflow/protos/message';
import { jsonObject } from '../../../http/json.ts';
import { textsOf } from '../messages/message-texts.ts';
import { givenOut, type Output } from '../out/output.ts';

/** The values of a state while a run changes it. */
export interface GrowingValues {
  /** JSON, as clients read the values; with `output` that of the fields which the graph gives out. */
  readonly text: (output?: Output) => string;
  readonly changeMessages: (change: {
    readonly messages: readonly Message[];
    readonly removed: readonly string[];
  }) => void;
  /** Each field with its JSON. */
  readonly changeFields: (fields: Readonly<Record<string, string>>) => void;
}

/** Begins with a state: its fields with their JSON, and its messages. */
export function growingValues(fields: Readonly<Record<string, string>>, messages: readonly Message[]): GrowingValues {
  const present = new Map<string, string>(messages.map((message) => [message.message_id, textsOf(message)]));
  let own = fields;
  let made: string | undefined;
  const all = (): Readonly<Record<string, string>> => ({
    ...own,
    messages: `[${[...present.values()].filter(Boolean).join(',')}]`,
  });
  return {
    text: (output) => (output ? jsonObject(givenOut(all(), output)) : (made ??= jsonObject(all()))),
    changeMessages: ({ messages: changed, removed }) => {
      made = undefined;
      for (const message of changed) present.set(message.message_id, textsOf(message));
      for (const id of removed) present.delete(id);
    },
    changeFields: (changed) => {
      made = undefined;
      own = { ...own, ...changed };
    },
  };
}
