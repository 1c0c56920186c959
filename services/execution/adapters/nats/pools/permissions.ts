import { hashOfAgent, lanesOfPool, type Pool } from '../client/pools.ts';
import { namesOf, subjectPrefix, type StreamNames } from '../client/names.ts';
import { aliveSubject, controlSubject, drivenSubject, rollCallSubject, subjectOfPool } from '../client/subjects.ts';
import { questions, inboxRoot, questionSubject } from './questions.ts';

/** What the NATS user of a pool's workers is for. */
export interface PoolUser {
  /** `NATS_PREFIX`. */
  readonly prefix: string;
  readonly agents: readonly string[];
  /** The revisions that the pool's workers hold, beside runs without a revision. */
  readonly revisions: readonly string[];
  /** `NATS_INBOX_PREFIX`; that of the agents unless given. */
  readonly inboxPrefix?: string | undefined;
}

/** The subjects that a user may publish and subscribe to; nothing else but one reply to each message that it gets. */
interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** The token of a pool in the ids of its workers, which only they may speak for: the hash of its first agent by name. */
export const tokenOfAgents = (agents: readonly string[]): string => hashOfAgent(agents.toSorted()[0] ?? '');

/** What the inboxes of a pool's workers begin with, unless it is set. */
export const inboxPrefixOf = (agents: readonly string[]): string => `${inboxRoot}_${tokenOfAgents(agents)}`;

/**
 * Why the replies to a pool's workers may not begin so; `undefined` when they may. Below `_INBOX` are the replies to the service, and the
 * default of each pool is its own alone.
 */
export function inboxFault(prefix: string, agents: readonly string[]): string | undefined {
  if (!/^_INBOX[\w-]*(\.[\w-]+)*$/.test(prefix))
    return 'must begin with `_INBOX` and be of letters, digits, -, _ and single dots';
  const [first = ''] = prefix.split('.');
  if (first === inboxRoot)
    return 'must be another word than `_INBOX` for a pool: the replies to the service begin with that';
  const isOfSomePool = first.startsWith(`${inboxRoot}_`) && /^[0-9a-f]{8}$/.test(first.slice(inboxRoot.length + 1));
  if (isOfSomePool && first !== inboxPrefixOf(agents)) return 'must not be what the replies of other agents begin with';
  return undefined;
}

/** What a pool needs of one kind of subject. */
interface PoolNeeds {
  readonly publish?: readonly string[];
  readonly subscribe?: readonly string[];
}

interface Place extends PoolUser {
  readonly names: StreamNames;
  readonly pools: readonly Pool[];
}

/**
 * How messages of a kind get from one account of NATS to another, where the pool has an account of its own. From the pool to the service: as
 * requests with one reply (`asks`) or several (`asks for many`), or without one (`notifies`). From the service to the pool: as requests (`is asked`), or
 * without a reply (`is notified`).
 */
export type Crossing = 'asks' | 'asks for many' | 'notifies' | 'is asked' | 'is notified';

/** One kind of subject on NATS. */
interface SubjectRule {
  /** Absent: messages of the kind stay within an account. */
  readonly crosses?: Crossing;
  /** All subjects of the kind, with the wildcards of NATS. */
  readonly all: (place: Pick<Place, 'prefix' | 'names'>) => string;
  /** What a pool needs of them; nothing when absent. */
  readonly needs?: (place: Place) => PoolNeeds;
}

const lanesOf = ({ names, pools }: Place): readonly string[] =>
  pools.flatMap((pool) => lanesOfPool(names, pool).map(({ stream, consumer }) => `${stream}.${consumer}`));

const ofAgents = ({ agents }: Place, subjectOf: (agentHash: string) => string): readonly string[] =>
  agents.map((agent) => subjectOf(hashOfAgent(agent)));

/**
 * Every kind of subject that the service uses on NATS, and what a pool's workers may do with it. A new subject needs a row here: a test
 * compares the rows with what a whole cluster sends.
 */
const subjectRules = {
  inboxes: {
    all: () => `${inboxRoot}*.>`,
    needs: ({ agents, inboxPrefix = inboxPrefixOf(agents) }) => ({ subscribe: [`${inboxPrefix}.>`] }),
  },
  /** The server makes them for a request that comes from another account. */
  inboxesOfOtherAccounts: { all: () => '_R_.>' },
  runs: { all: ({ names }) => `${names.runSubject}.>` },
  pulls: {
    all: () => '$JS.API.CONSUMER.MSG.NEXT.>',
    crosses: 'asks for many',
    needs: (place) => ({ publish: lanesOf(place).map((lane) => `$JS.API.CONSUMER.MSG.NEXT.${lane}`) }),
  },
  acknowledgements: {
    all: () => '$JS.ACK.>',
    crosses: 'asks',
    needs: (place) => ({ publish: lanesOf(place).map((lane) => `$JS.ACK.${lane}.>`) }),
  },
  /** Streams, consumers, and what is read from them: the name of what is read is in the body, which no permission sees. */
  jetStream: { all: () => '$JS.API.>' },
  /** What JetStream reports to operators. */
  advisories: { all: () => '$JS.EVENT.>' },
  events: {
    all: ({ names }) => `${names.eventSubject}.>`,
    crosses: 'asks',
    needs: (place) => ({ publish: ofAgents(place, (hash) => `${place.names.eventSubject}.${hash}.*`) }),
  },
  liveEvents: { all: ({ names }) => `${names.liveSubject}.>` },
  heartbeats: {
    all: ({ prefix }) => `${aliveSubject(prefix)}.>`,
    crosses: 'notifies',
    needs: (place) => ({ publish: [`${aliveSubject(place.prefix)}.${tokenOfAgents(place.agents)}.*`] }),
  },
  /** How many runs of an agent a worker drives. */
  driven: {
    all: ({ prefix }) => `${drivenSubject(prefix)}.>`,
    crosses: 'notifies',
    needs: (place) => ({ publish: ofAgents(place, (hash) => `${drivenSubject(place.prefix)}.${hash}.*`) }),
  },
  rollCalls: {
    all: ({ prefix }) => `${subjectPrefix(prefix)}rollcall.>`,
    crosses: 'is notified',
    needs: ({ prefix }) => ({ subscribe: [rollCallSubject(prefix)] }),
  },
  stops: {
    all: ({ prefix }) => `${controlSubject(prefix)}.>`,
    crosses: 'is notified',
    needs: (place) => ({ subscribe: ofAgents(place, (hash) => `${controlSubject(place.prefix)}.${hash}.*`) }),
  },
  questions: {
    all: ({ names }) => `${names.helpSubject}.>`,
    crosses: 'asks for many',
    needs: (place) => ({
      publish: questions.flatMap((question) =>
        ofAgents(place, (hash) => questionSubject(place.names.helpSubject, hash, question)),
      ),
    }),
  },
  /** A worker answers each message of a call once. */
  codeCalls: {
    all: ({ prefix }) => `${subjectPrefix(prefix)}code.>`,
    crosses: 'is asked',
    needs: ({ prefix, pools }) => ({
      subscribe: pools.flatMap((pool) => [subjectOfPool(prefix, pool), `${subjectOfPool(prefix, pool)}.*.*`]),
    }),
  },
} satisfies Readonly<Record<string, SubjectRule>>;

/** All rules, and the names in them for a prefix. */
export const rulesWith = (
  prefix: string,
): { readonly rules: readonly (readonly [name: string, rule: SubjectRule])[]; readonly names: StreamNames } => ({
  rules: Object.entries(subjectRules),
  names: namesOf(prefix),
});

/** What the user of a pool's workers needs, and no more. */
export function permissionsOf(user: PoolUser): Permissions {
  const needs = needsOf(user);
  return {
    publish: needs.flatMap(({ publish = [] }) => publish),
    subscribe: needs.flatMap(({ subscribe = [] }) => subscribe),
  };
}

/** What a pool needs of each kind of subject, and how that gets to another account. */
export function needsOf(user: PoolUser): readonly (PoolNeeds & Pick<SubjectRule, 'crosses'>)[] {
  const { rules, names } = rulesWith(user.prefix);
  const pools = user.agents.flatMap((agent): Pool[] => [
    { agent },
    ...user.revisions.map((revision) => ({ agent, revision })),
  ]);
  return rules.map(([, { needs: toNeeds, crosses }]) => ({
    ...toNeeds?.({ ...user, names, pools }),
    ...(crosses === undefined ? {} : { crosses }),
  }));
}

/** The permissions as they stand in the configuration of a NATS server, for a user or a group of users. */
export function toServerConfig({ publish, subscribe }: Permissions): string {
  const list = (subjects: readonly string[]): string =>
    subjects.map((each) => `    ${JSON.stringify(each)}`).join('\n');
  return `permissions {\n  publish { allow: [\n${list(publish)}\n  ] }\n  subscribe { allow: [\n${list(subscribe)}\n  ] }\n  allow_responses: true\n}\n`;
}
