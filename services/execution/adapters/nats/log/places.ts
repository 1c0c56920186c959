import { defaultAgent } from '@agent-workflow/kit/agents';
import { invalid } from '@agent-workflow/kit/errors';
import { hashOfAgent } from '../client/pools.ts';
import { hashOf, type StreamNames } from '../client/names.ts';
import { isRunId } from '../client/subject-text.ts';

/** The shards that the version before spreads runs over. Hashes of agents are longer. */
const shards = 16;

/** The subject of a run's events below a word: the hash of the run's agent. The service makes all run ids, so that one which cannot be part of a subject names no run. */
export function eventSubjectOf(
  { eventSubject }: Pick<StreamNames, 'eventSubject'>,
  word: string,
  runId: string,
): string {
  if (!isRunId(runId)) throw invalid(['runId'], 'is not an id of a run');
  return `${eventSubject}.${word}.${runId}`;
}

/** The word by which the version before names a run's subject. */
const shardOf = (runId: string): string => String(hashOf(runId) % shards);

/** What is known of a log's agent. */
interface LogOf {
  readonly runId: string;
  /** The hash of the agent; `undefined` where it is not known. */
  readonly agentHash: string | undefined;
}

/** Where the logs of runs are in the stream: one subject for each. */
export interface LogPlaces {
  /** Where a log is looked for whose subject is not known. */
  readonly search: (log: LogOf) => string;
  /** Where a log begins that has no message yet. */
  readonly begin: (log: LogOf) => string;
  /** Where else the log may be, when something is found that is not of its agent. */
  readonly candidates: (log: LogOf) => readonly string[];
  /** The subject of the log's next frames, with `*` where that cannot be known. */
  readonly next: (log: LogOf & { readonly subject: string }) => string;
  /** Whether a subject may hold the log of this run. */
  readonly mayHold: (subject: string, log: LogOf) => boolean;
}

interface LogPlacesOptions {
  readonly names: Pick<StreamNames, 'eventSubject'>;
  /** Whether replicas are there that look for logs by shard alone. */
  readonly areByShard: () => boolean;
  /** The only agents whose logs are read and written here; absent: those of all. */
  readonly agents?: readonly string[] | undefined;
}

/** A log is below its agent's hash, or below a shard if a replica of the version before began it. It is continued where it is. */
export function createLogPlaces({ names, areByShard, agents }: LogPlacesOptions): LogPlaces {
  const fallback = hashOfAgent(agents?.includes(defaultAgent) === false ? (agents[0] ?? defaultAgent) : defaultAgent);
  const below = (word: string, runId: string): string => eventSubjectOf(names, word, runId);
  const ofAgent = ({ runId, agentHash = fallback }: LogOf): string => below(agentHash, runId);
  if (agents)
    return {
      search: ofAgent,
      begin: ofAgent,
      candidates: (log) => [ofAgent(log)],
      next: ofAgent,
      mayHold: (subject, log) => subject === ofAgent(log),
    };
  const ofShard = ({ runId }: LogOf): string => below(shardOf(runId), runId);
  return {
    search: ({ runId }) => below('*', runId),
    begin: (log) => (areByShard() ? ofShard(log) : ofAgent(log)),
    candidates: (log) => [ofAgent(log), ofShard(log)],
    next: (log) => {
      if (log.agentHash === undefined || areByShard()) return below('*', log.runId);
      return log.subject === ofShard(log) ? log.subject : ofAgent(log);
    },
    mayHold: (subject, log) => log.agentHash === undefined || subject === ofAgent(log) || subject === ofShard(log),
  };
}

/** Whether a subject is one that the version before uses. */
export const isOfShard = (subject: string, runId: string): boolean => subject.endsWith(`.${shardOf(runId)}.${runId}`);
