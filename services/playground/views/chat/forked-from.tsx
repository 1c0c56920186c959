import { useLoaded } from '../../session/loaded.ts';
import { toHash } from '../../session/route.ts';
import { client } from '../../session/session.ts';
import { originOf } from './forks.ts';

/** Versions of a thread that are read to find its first: a fork of more has its origin among its versions. */
const mostRead = { pages: 3, ofPage: 100 };

/** Of a fork the chat that it was made from. What cannot be read is not shown: it is no part of the talk. */
export function ForkedFrom({ id }: { readonly id: string }) {
  const { state } = useLoaded((signal) => readOrigin(id, signal), []);
  const { value: origin } = state.value;
  if (!origin) return null;
  return (
    <span class="chat-origin">
      Forked from{' '}
      <a href={toHash({ view: 'chat', id: origin.id })} dir="auto">
        {origin.title}
      </a>
    </span>
  );
}

interface Origin {
  readonly id: string;
  readonly title: string;
}

/** @returns `undefined` of a thread that is no fork. */
async function readOrigin(id: string, signal: AbortSignal): Promise<Origin | undefined> {
  const { ofPage: limit, pages } = mostRead;
  let cursor: string | undefined;
  for (let read = 0; read < pages; read++) {
    const page = await client.threads.checkpoints(id, { limit, ...(cursor !== undefined && { cursor }) }, { signal });
    ({ cursor } = page);
    if (cursor !== undefined) continue;
    const from = originOf(page.checkpoints);
    return from === undefined ? undefined : { id: from, title: await titleOf(from, signal) };
  }
  return undefined;
}

/** What the other chat is called; it may be deleted since. */
const titleOf = (id: string, signal: AbortSignal): Promise<string> =>
  client.threads.get(id, { signal }).then(
    ({ title }) => title ?? 'an untitled chat',
    () => 'a chat that is not there',
  );
