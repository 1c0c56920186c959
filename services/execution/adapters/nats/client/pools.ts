import { LRUCache } from 'lru-cache';
import { defaultAgent, hashOfPoolName, nameOfPool as toName } from '@agent-workflow/kit/agents';

/** The workers that may take a run: those of its agent, at its revision if it has one. */
export interface Pool {
  readonly agent: string;
  readonly revision?: string;
}

/** The pool of a run. */
export const poolOf = ({ agent = defaultAgent, revision }: Partial<Pool>): Pool =>
  revision === undefined ? { agent } : { agent, revision };

/** A part of a pool's waiting runs, which one consumer delivers. */
export interface Lane {
  /** The name of the consumer. No two lanes share it. */
  readonly consumer: string;
  readonly stream: string;
  /** The subjects of its runs. */
  readonly filter: string;
}

/** The lanes of a pool: those that runs are divided into by their owners, and after them those for runs in bulk. */
interface LaneCounts {
  readonly own: number;
  readonly bulk: number;
}

const countsOfDefault: LaneCounts = { own: 16, bulk: 4 };
/** Each lane costs the servers a consumer, with a group of its own to agree in where streams have replicas. */
const countsOfOthers: LaneCounts = { own: 4, bulk: 2 };

/** As many lanes as all who enqueue and take runs of the agent agree upon. */
export const laneCountsOf = ({ agent }: Pool): LaneCounts =>
  agent === defaultAgent ? countsOfDefault : countsOfOthers;

/** The name of a pool in texts: `agent` or `agent@revision`. */
export const nameOfPool = ({ agent, revision }: Pool): string => toName(agent, revision);

/** A pool in subjects and names of consumers. */
export function hashOfPool(pool: Pool): string {
  const name = nameOfPool(pool);
  const known = hashes.get(name);
  if (known !== undefined) return known;
  const hash = hashOfPoolName(name);
  hashes.set(name, hash);
  return hash;
}

/** The hashes of names that are in use: each run needs some. */
const hashes = new LRUCache<string, string>({ max: 1000 });

/** An agent in subjects: as the pool of its runs without a revision. */
export const hashOfAgent = (agent: string): string => hashOfPool({ agent });

export const consumerOf = (pool: Pool, lane: number): string => `${hashOfPool(pool)}-${lane}`;

/** The stream of waiting runs, and what their subjects begin with. */
interface RunNames {
  readonly runs: string;
  readonly runSubject: string;
}

/** The subjects of a pool's runs. */
export const poolFilter = ({ runSubject }: Pick<RunNames, 'runSubject'>, pool: Pool): string =>
  `${runSubject}.${hashOfPool(pool)}.>`;

/** The hash of the pool that a run's subject names. */
export const hashIn = ({ runSubject }: Pick<RunNames, 'runSubject'>, subject: string): string =>
  subject.slice(runSubject.length + 1, subject.indexOf('.', runSubject.length + 1));

export const lanesOfPool = (names: RunNames, pool: Pool): readonly Lane[] => {
  const { own, bulk } = laneCountsOf(pool);
  const hash = hashOfPool(pool);
  return Array.from({ length: own + bulk }, (_, lane) => ({
    consumer: consumerOf(pool, lane),
    stream: names.runs,
    filter: `${names.runSubject}.${hash}.${lane}.>`,
  }));
};
