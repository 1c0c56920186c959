import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { createYielder } from '@agent-workflow/kit/yielder';
import type { MemoryHead } from '../../ports/memory.ts';
import type { KeywordHit, MemorySearch, VectorHit } from '../../ports/search.ts';
import { bestScoreFirst, isWithin, nearestFirst, newestFirst } from '../../record/order.ts';
import { distancesFrom } from '../../vectors/distances.ts';
import { createTop } from '../../vectors/top.ts';
import type { KeywordIndex } from './keyword-index.ts';
import type { Visit } from './owner-vectors.ts';
import { headColumns, toHead, vectorAt } from './rows.ts';
import { vectorRowsOf, type ReadVectors } from './vector-reads.ts';

interface Parts {
  readonly db: Sqlite;
  readonly index: KeywordIndex;
  readonly readVectors: ReadVectors;
  readonly dimension: number;
}

const selectHeadAt = `SELECT ${headColumns} FROM memories WHERE seq = ? AND owner = ?`;

/** Compares a query with every vector of its owner, and finds keywords in the full-text index. */
export function createSearch({ db, index, readVectors, dimension }: Parts): MemorySearch {
  const readHeadAt = (owner: string, seq: number): MemoryHead | undefined => {
    const row = db.prepare(selectHeadAt).get(seq, owner);
    return row && toHead(row);
  };

  return {
    findByVector: async ({ owner, narrowing, accepts, limit, vector, measure, order, maxDistance = Infinity }) => {
      const top = createTop<VectorHit>(limit, order === 'nearest' ? nearestFirst : newestFirst);
      const distanceTo = distancesFrom(vector, measure);
      const visit: Visit = (head, vectors, offset) => {
        if (!isWithin(narrowing, head)) return;
        const hit = { head, distance: distanceTo(vectors, offset) };
        if (hit.distance > maxDistance || !top.wants(hit)) return;
        if (accepts === undefined || accepts(head)) top.add(hit);
      };
      const cached = await readVectors(owner);
      if (cached) {
        await cached.scan(visit);
        return top.items();
      }
      for await (const row of vectorRowsOf(db, owner)) {
        const stored = vectorAt(row, dimension);
        // Parsing the rest of a row costs more than comparing its vector.
        if (order === 'nearest' && distanceTo(stored, 0) > (top.last()?.distance ?? Infinity)) continue;
        visit(toHead(row), stored, 0);
      }
      return top.items();
    },

    findByKeywords: async ({ owner, narrowing, accepts, limit, text }) => {
      const top = createTop<KeywordHit>(limit, bestScoreFirst);
      const yielder = createYielder();
      const matches = await index.find(owner, text);
      const cached = matches.length > 0 ? await readVectors(owner) : undefined;
      for (const { seq, score } of matches) {
        const head = cached ? cached.headAt(seq) : readHeadAt(owner, seq);
        const hit = head && isWithin(narrowing, head) && { head, score };
        if (hit && top.wants(hit) && (accepts === undefined || accepts(hit.head))) top.add(hit);
        if (yielder.isDue()) await yielder.yield();
      }
      return top.items();
    },

    incompleteSince: () => undefined,
  };
}
