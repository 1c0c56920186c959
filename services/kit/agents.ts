import { createHash } from 'node:crypto';

/** The agent that a service with a single one serves, and that every thread belongs to that names none. */
export const defaultAgent = 'default';

/** 1 to 63 of `a-z 0-9 -`, the first a letter: as labels of Kubernetes and names of hosts take it. */
export const agentNamePattern = '^[a-z][a-z0-9-]{0,62}$';

const agentName = new RegExp(agentNamePattern, 'u');

/** Whether a text may name an agent. */
export const isAgentName = (text: string): boolean => agentName.test(text);

/** Why a text is refused that names no agent. */
export const mustBeAgentName = 'must be the name of an agent: 1 to 63 of a-z, 0-9 and "-", the first a letter';

/** The type of the detail of a refused run whose agent is not there. It may come with the next deployment. */
export const absentAgent = 'absent_agent';

/** 1 to 128 of letters, digits and `._:@-`: a tag or a digest of an image. */
const revisionPattern = '^[A-Za-z0-9._:@-]{1,128}$';

const revision = new RegExp(revisionPattern, 'u');

/** Whether a text may name a revision of an agent: paths name it, so that `.` and `..` are none. */
export const isRevision = (text: string): boolean => revision.test(text) && text !== '.' && text !== '..';

const hashLength = 8;

/** The name of a pool in texts: `agent` or `agent@revision`. */
export const nameOfPool = (agent: string, revision?: string): string =>
  revision === undefined ? agent : `${agent}@${revision}`;

/**
 * A pool in subjects and in names of consumers: the first 8 hexadecimal digits of the SHA-256 of its name. Names can be chosen
 * that have one hash, so the record registers no second one.
 */
export const hashOfPoolName = (name: string): string =>
  createHash('sha256').update(name).digest('hex').slice(0, hashLength);
