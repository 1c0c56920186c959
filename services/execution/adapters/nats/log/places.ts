import { defaultAgent } from '@agent-workflow/kit/agents';
import { invalid } from '@agent-workflow/kit/errors';
import { hashOfAgent } from '../client/pools.ts';
import type { StreamNames } from '../client/names.ts';
import { isRunId } from '../client/subject-text.ts';

/** The subject of a run's events below a word: the hash of the run's agent. The service makes all run ids, so that one which cannot be part of a subject names no run. */
export function eventSubjectOf(
  { eventSubject }: Pick<StreamNames, 'eventSubject'>,
  word: string,
  runId: string,
): string {
  if (!isRunId(runId)) throw invalid(['runId'], 'is not an id of a run');
  return `${eventSubject}.${word}.${runId}`;
}

/** What is known of a log's agent. */
interface LogOf {
  readonly runId: string;
  /** The hash of the agent; `undefined` where it is not known. */
  readonly agentHash: string | undefined;
}

/** Where the logs of runs are in the stream: one subject for each, below the hash of the run's agent. */
export interface LogPlaces {
  /** The subject of a log, with `*` where its agent is not known. */
  readonly search: (log: LogOf) => string;
  /** Where a log begins that has no message yet. */
  readonly begin: (log: LogOf) => string;
  /** Whether a subject may hold the log of this run. */
  readonly mayHold: (subject: string, log: LogOf) => boolean;
}

interface LogPlacesOptions {
  readonly names: Pick<StreamNames, 'eventSubject'>;
  /** The only agents whose logs are read and written here; absent: those of all. */
  readonly agents?: readonly string[] | undefined;
}

export function createLogPlaces({ names, agents }: LogPlacesOptions): LogPlaces {
  const fallback = hashOfAgent(agents?.includes(defaultAgent) === false ? (agents[0] ?? defaultAgent) : defaultAgent);
  const isAnywhere = ({ agentHash }: LogOf): boolean => agents === undefined && agentHash === undefined;
  const begin = ({ runId, agentHash = fallback }: LogOf): string => eventSubjectOf(names, agentHash, runId);
  return {
    search: (log) => (isAnywhere(log) ? eventSubjectOf(names, '*', log.runId) : begin(log)),
    begin,
    mayHold: (subject, log) => isAnywhere(log) || subject === begin(log),
  };
}
