import { createHash } from 'node:crypto';
import type { Sqlite } from '@agent-workflow/runtime/sqlite/sqlite';

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
  /** All rows of the owner that have any word of the text, some rows at a time. */
  readonly find: (owner: string, text: string) => AsyncIterable<readonly KeywordMatch[]>;
}

/**
 * New rows are indexed in groups of this many, because indexing one row alone costs more than writing it. The rows after
 * `indexed.until` wait; a search indexes them first.
 */
const waitingAtMost = 32;

/** Matches that one query reads. They are many, because FTS5 counts the rows with a word again in each query. */
const matchesAtOnce = 5000;

const insertEntry = 'INSERT INTO memory_words (rowid, owner, content) VALUES (?, ?, ?)';
const deleteEntry = 'DELETE FROM memory_words WHERE rowid = ?';
const selectWaiting = 'SELECT seq, owner, content FROM memories WHERE seq > ? ORDER BY seq';
const selectMatches = `SELECT rowid AS seq, -bm25(memory_words, 0.0, 1.0) AS score
  FROM memory_words WHERE memory_words MATCH ? AND rowid > ? ORDER BY rowid LIMIT ?`;

export function createKeywordIndex(db: Sqlite): KeywordIndex {
  const indexedUntil = (): number => Number(db.prepare('SELECT until FROM indexed').get()?.['until']);

  const insert = ({ seq, owner, content }: IndexEntry): void => {
    db.prepare(insertEntry).run(seq, ownerWord(owner), content);
  };

  const indexWaiting = (): void => {
    let until = indexedUntil();
    for (const row of db.prepare(selectWaiting).all(until)) {
      until = Number(row['seq']);
      insert({ seq: until, owner: String(row['owner']), content: String(row['content']) });
    }
    db.prepare('UPDATE indexed SET until = ?').run(until);
  };

  return {
    add: (entry) => {
      const until = indexedUntil();
      if (entry.seq <= until) insert(entry);
      else if (entry.seq - until >= waitingAtMost) indexWaiting();
    },

    replace: (entry) => {
      if (entry.seq > indexedUntil()) return;
      db.prepare(deleteEntry).run(entry.seq);
      insert(entry);
    },

    remove: (seq) => {
      if (seq <= indexedUntil()) db.prepare(deleteEntry).run(seq);
    },

    find: async function* (owner, text) {
      const match = toMatch(owner, text);
      if (match === undefined) return;
      if (db.prepare(selectWaiting).get(indexedUntil())) await db.write(indexWaiting);
      for (let after = -1; ;) {
        const rows = db.prepare(selectMatches).all(match, after, matchesAtOnce);
        const matches = rows.map((row) => ({ seq: Number(row['seq']), score: Number(row['score']) }));
        yield matches;
        const last = matches.at(-1);
        if (matches.length < matchesAtOnce || !last) return;
        after = last.seq;
      }
    },
  };
}

/** The owner as one word of the index, so that a search reads no other owner's entries. */
const ownerWord = (owner: string): string => createHash('sha256').update(owner).digest('hex').slice(0, 24);

/** The words of a query after these are ignored. */
const maxWords = 64;

/** A text as a query of FTS5: every word in quotes, where nothing is syntax. `undefined` when it has no word. */
function toMatch(owner: string, text: string): string | undefined {
  const words = new Set(text.toLowerCase().match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu));
  if (words.size === 0) return undefined;
  const quoted = [...words].slice(0, maxWords).map((word) => `"${word}"`);
  return `owner : "${ownerWord(owner)}" AND content : (${quoted.join(' OR ')})`;
}
