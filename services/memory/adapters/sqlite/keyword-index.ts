import { createHash } from 'node:crypto';
import { createYielder } from '@agent-workflow/kit/yielder';
import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';
import { queryTermsOf, termsText } from '../../words/terms.ts';

/** A row's content in the full-text index. */
interface IndexEntry {
  /** The row's number. */
  readonly seq: number;
  readonly owner: string;
  readonly content: string;
}

/** A match: the row's number and its BM25 score. */
interface KeywordMatch {
  readonly seq: number;
  readonly score: number;
}

/** The full-text index of contents. Each call but `find` runs inside a write. */
export interface KeywordIndex {
  readonly add: (entry: IndexEntry) => void;
  readonly replace: (entry: IndexEntry) => void;
  readonly remove: (seq: number) => void;
  /** All rows of the owner that have any term of the text. Rows of other owners change no score. */
  readonly find: (owner: string, text: string) => Promise<KeywordMatch[]>;
}

/**
 * New rows are indexed in groups of this many, because indexing one row alone costs more than writing it. The rows after
 * `indexed.until` wait; a search indexes them first.
 */
const waitingAtMost = 32;
/** How many rows that wait one write indexes: more of them wait after the terms have changed. */
const indexedByAdd = 64;
const indexedByFind = 500;

/** Matches of one term that one query reads. They are many, because FTS5 counts the rows with a term again in each query. */
const matchesAtOnce = 5000;

const insertEntry = 'INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)';
const deleteEntry = 'DELETE FROM memory_terms WHERE rowid = ?';
const selectWaiting = 'SELECT seq, owner, content FROM memories WHERE seq > ? ORDER BY seq LIMIT ?';
const countRows = 'SELECT count(*) AS count FROM memories WHERE owner = ?';
/**
 * FTS5 multiplies the weight of a term in a row, which is what is wanted here, by a factor for how rare the term is. The same with a huge
 * weight of the column is this factor alone, so that their quotient is the weight, from 0 to 1.
 */
const selectMatches = `SELECT rowid AS seq, bm25(memory_terms, 1.0) / bm25(memory_terms, 1e15) AS weight
  FROM memory_terms WHERE memory_terms MATCH ? AND rowid > ? ORDER BY rowid LIMIT ?`;

export function createKeywordIndex(db: Sqlite): KeywordIndex {
  const ownerPrefix = createOwnerPrefix();
  const indexedUntil = (): number => Number(db.prepare('SELECT until FROM indexed').get()?.['until']);

  const insert = ({ seq, owner, content }: IndexEntry): void => {
    db.prepare(insertEntry).run(seq, termsText(content, ` ${ownerPrefix(owner)}`));
  };

  const indexWaiting = (most: number): void => {
    let until = indexedUntil();
    for (const row of db.prepare(selectWaiting).all(until, most)) {
      until = Number(row['seq']);
      insert({ seq: until, owner: String(row['owner']), content: String(row['content']) });
    }
    db.prepare('UPDATE indexed SET until = ?').run(until);
  };

  /** The rows of the owner that have the term, each with the weight of the term in it. */
  const weightsOf = async (owner: string, term: string): Promise<(readonly [seq: number, weight: number])[]> => {
    const match = `"${ownerPrefix(owner)}${term}"`;
    const weights: (readonly [number, number])[] = [];
    const yielder = createYielder();
    for (let after = -1; ;) {
      const rows = db.prepare(selectMatches).all(match, after, matchesAtOnce);
      for (const row of rows) weights.push([Number(row['seq']), Number(row['weight'])]);
      if (rows.length < matchesAtOnce) return weights;
      after = Number(rows.at(-1)?.['seq']);
      if (yielder.isDue()) await yielder.yield();
    }
  };

  return {
    add: (entry) => {
      const until = indexedUntil();
      if (entry.seq <= until) insert(entry);
      else if (entry.seq - until >= waitingAtMost) indexWaiting(indexedByAdd);
    },

    replace: (entry) => {
      if (entry.seq > indexedUntil()) return;
      db.prepare(deleteEntry).run(entry.seq);
      insert(entry);
    },

    remove: (seq) => {
      if (seq <= indexedUntil()) db.prepare(deleteEntry).run(seq);
    },

    find: async (owner, text) => {
      const terms = queryTermsOf(text);
      if (terms.length === 0) return [];
      while (db.prepare(selectWaiting).get(indexedUntil(), 1))
        await db.write(() => {
          indexWaiting(indexedByFind);
        });
      const rows = Number(db.prepare(countRows).get(owner)?.['count']);
      const scores = new Map<number, number>();
      const yielder = createYielder();
      for (const term of terms) {
        const weights = await weightsOf(owner, term);
        const rarity = rarityOf(weights.length, rows);
        for (const [seq, weight] of weights) {
          scores.set(seq, (scores.get(seq) ?? 0) + weight * rarity);
          if (yielder.isDue()) await yielder.yield();
        }
      }
      return Array.from(scores, ([seq, score]) => ({ seq, score }));
    },
  };
}

/** How much a term says by which `withTerm` of `rows` are found: BM25's inverse document frequency, as Weaviate has it, above 0. */
const rarityOf = (withTerm: number, rows: number): number =>
  Math.log(1 + (Math.max(rows - withTerm, 0) + 0.5) / (withTerm + 0.5));

/** Each term of the index begins with its owner, so that a search reads hardly an entry of another one; what it reads is compared with the owner then. */
const prefixOf = (owner: string): string => createHash('sha256').update(owner).digest('hex').slice(0, 10);

/** The same, known for the owner who was asked for last: a load puts many memories of one. */
function createOwnerPrefix(): (owner: string) => string {
  let last = { owner: '', prefix: prefixOf('') };
  return (owner) => {
    if (owner !== last.owner) last = { owner, prefix: prefixOf(owner) };
    return last.prefix;
  };
}
