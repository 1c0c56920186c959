import type { WeaviateConnection } from './weaviate.ts';

interface Statistics {
  readonly statistics?: readonly NodeStatistics[];
}

interface NodeStatistics {
  readonly name?: string;
  readonly status?: string;
  readonly initialLastAppliedIndex?: number;
  readonly raft?: { readonly term?: string };
}

/** The fingerprint of a Weaviate that refuses its statistics, as it is stored. Then only failed requests show a restart. */
const unknownFingerprint = 'not told';

/** Whether a fingerprint changes with a restart. */
export const showsRestarts = (fingerprint: string): boolean => fingerprint !== unknownFingerprint;

/**
 * Reads the statistics of the nodes, for which the library has no call. The term of a cluster of one node counts its starts; a node that
 * is unavailable is missing.
 */
export async function readFingerprint({ url, apiKey, requestTimeoutMs }: WeaviateConnection): Promise<string> {
  const response = await fetch(`${url}/v1/cluster/statistics`, {
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    signal: AbortSignal.timeout(requestTimeoutMs),
  });
  if (response.status >= 500) throw new Error(`statistics: status ${String(response.status)}`);
  if (!response.ok) return unknownFingerprint;
  const { statistics = [] } = (await response.json()) as Statistics;
  return statistics
    .map(({ name, status, initialLastAppliedIndex = 0, raft }) =>
      [name, status, initialLastAppliedIndex, raft?.term].join(':'),
    )
    .sort()
    .join(' ');
}
