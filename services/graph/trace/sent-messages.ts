import type { Message } from '@agent-workflow/protos/message';
import { mostRanges, type SentMessages } from '@agent-workflow/protos/run-trace';

/** What was sent: parts of the context that a step began with, and messages that are not of it. */
interface Sent {
  readonly noted: SentMessages;
  readonly others: readonly Message[];
}

/** Finds the messages of the context among those that a model is sent, by their ids: their content may have been changed for the model. */
export function sentMessages(messages: readonly Message[], context: readonly Message[]): Sent {
  const others: Message[] = [];
  const ranges: [from: string, to: string, count: number][] = [];
  const placeOf = createPlaceOf(context);
  let range: (typeof ranges)[number] | undefined;
  let next = 0;
  for (const message of messages) {
    const { message_id: id } = message;
    const place = context[next]?.message_id === id ? next : placeOf(id);
    if (place === undefined) {
      others.push(message);
      continue;
    }
    if (range && place === next) {
      range[1] = id;
      range[2] += 1;
    } else {
      range = ranges.length < mostRanges ? [id, id, 1] : undefined;
      if (range) ranges.push(range);
    }
    next = place + 1;
  }
  return { noted: { count: messages.length, ranges }, others };
}

/** Where a message stands; all places are looked up once, where one does not follow the other. */
function createPlaceOf(context: readonly Message[]): (id: string) => number | undefined {
  let places: ReadonlyMap<string, number> | undefined;
  return (id) => {
    places ??= new Map(context.map(({ message_id: own }, index) => [own, index]));
    return places.get(id);
  };
}
