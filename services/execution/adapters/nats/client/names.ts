/** Names of the streams and their subjects. */
export interface StreamNames {
  readonly runs: string;
  readonly events: string;
  /** The subject of a run begins with it; pool, lane, owner and run follow. */
  readonly runSubject: string;
  readonly eventSubject: string;
  /** Where the server republishes an event once it is stored. */
  readonly liveSubject: string;
  /** What workers of a pool ask the replicas of the role `api` for; the hash of their agent and the question follow. */
  readonly helpSubject: string;
}

/** The beginning of every subject, with the dot; empty without a prefix. */
export const subjectPrefix = (prefix: string): string => (prefix === '' ? '' : `${prefix}.`);

export function namesOf(prefix: string): StreamNames {
  const stream = prefix === '' ? '' : `${prefix}_`;
  const subject = subjectPrefix(prefix);
  return {
    runs: `${stream}QUEUE`,
    events: `${stream}EVENTS`,
    runSubject: `${subject}queue`,
    eventSubject: `${subject}events`,
    liveSubject: `${subject}told`,
    helpSubject: `${subject}help`,
  };
}

/** FNV-1a: spreads names over lanes, the same in every process. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** An owner in the subjects of runs. Two owners may share it. */
export const wordOfOwner = (owner: string): string => hashOf(owner).toString(36);
