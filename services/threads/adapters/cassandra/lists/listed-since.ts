import type { Session } from '../client/client.ts';

const cql = 'SELECT since_hour FROM runs_listed_by_agent WHERE id = 0';

/** Reads from which hour on the lists of agents are whole, as the migration has noted it. What is noted once stays, so it is kept. */
export function createListedSince(session: Pick<Session, 'read'>): () => Promise<number | undefined> {
  let known: number | undefined;
  return async () => {
    if (known !== undefined) return known;
    const [row] = await session.read({ cql, params: [] });
    known = row ? Number(row['since_hour']) : undefined;
    return known;
  };
}
