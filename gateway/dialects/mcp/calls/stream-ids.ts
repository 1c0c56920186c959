import { idIn } from '../wire/reply.ts';
import type { Client } from '../wire/client.ts';

interface Followed {
  readonly client: Pick<Client, 'isModern'>;
  readonly id: string | number;
  readonly progressToken: unknown;
}

interface EventPlace {
  readonly runId: string;
  readonly seq: number;
}

/** A place in the stream of a call, from which any replica goes on. */
interface StreamPlace extends EventPlace {
  readonly id: string | number;
  readonly progressToken: unknown;
}

/** Characters of an id that a header can hold. */
const mostCharacters = 4096;

/** The id of an event in the stream of a call; `undefined` in the version without a handshake, whose streams do not go on. */
export const toEventId = ({ client, id, progressToken }: Followed, { runId, seq }: EventPlace): string | undefined =>
  client.isModern
    ? undefined
    : Buffer.from(JSON.stringify([runId, seq, id, progressToken ?? null])).toString('base64url');

/** The place that an id stands for; `undefined` for a text that is none. */
export function fromEventId(text: string): StreamPlace | undefined {
  if (text.length > mostCharacters) return undefined;
  try {
    const read: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    const [runId, seq, given, progressToken] = Array.isArray(read) ? (read as readonly unknown[]) : [];
    const id = idIn(given);
    return typeof runId === 'string' && typeof seq === 'number' && Number.isSafeInteger(seq) && id !== undefined
      ? { runId, seq, id, progressToken }
      : undefined;
  } catch {
    return undefined;
  }
}

/** The id of a question to the client: its reply may reach any replica. */
export const toQuestionId = (runId: string, questionId: string): string => `${runId} ${questionId}`;

export function fromQuestionId(
  id: string | number,
): { readonly runId: string; readonly questionId: string } | undefined {
  const [runId = '', questionId] = typeof id === 'string' ? [id.split(' ', 1)[0], id.slice(id.indexOf(' ') + 1)] : [];
  return questionId === undefined || questionId === runId ? undefined : { runId, questionId };
}
