import { hashOfAgent } from '@agent-workflow/execution/adapters/nats/client/pools';
import {
  permissionsOf,
  rulesWith,
  tokenOfAgents,
  type PoolUser,
} from '@agent-workflow/execution/adapters/nats/pools/permissions';
import { poolsPrefix } from '../servers/nats-pools.ts';

const { rules, names } = rulesWith(poolsPrefix);

/** A subject that a pattern with wildcards matches. */
export const literalOf = (pattern: string): string => pattern.replaceAll('*', 'x').replace(/>$/, 'x.y');

/** Every right that the pool of another agent has, every kind of subject as a whole, and the calls that manage streams and read them. */
export function foreignRights(
  ownUser: PoolUser,
  otherUser: PoolUser,
): { readonly publish: string[]; readonly subscribe: string[] } {
  const [[own = ''], [other = '']] = [ownUser.agents, otherUser.agents];
  const mine = permissionsOf(ownUser);
  const theirs = permissionsOf(otherUser);
  const all = rules.map(([, { all: of }]) => of({ prefix: poolsPrefix, names }));
  const calls = [
    'CREATE',
    'UPDATE',
    'DELETE',
    'PURGE',
    'INFO',
    'MSG.GET',
    'MSG.DELETE',
    'SNAPSHOT',
    'RESTORE',
    'PEER.REMOVE',
  ];
  const streams = [names.runs, names.events];
  const [lane = ''] = theirs.publish
    .filter((subject) => subject.includes('.NEXT.'))
    .map((subject) => subject.split('.').at(-1));
  const jetStream = streams.flatMap((stream) => [
    ...calls.map((name) => `$JS.API.STREAM.${name}.${stream}`),
    `$JS.API.DIRECT.GET.${stream}`,
    `$JS.API.DIRECT.GET.${stream}.${names.eventSubject}.${hashOfAgent(other)}.r`,
    ...['CREATE', 'DURABLE.CREATE', 'DELETE', 'INFO', 'PAUSE', 'MSG.NEXT'].map(
      (name) => `$JS.API.CONSUMER.${name}.${stream}.${lane}`,
    ),
    ...['LIST', 'NAMES'].map((name) => `$JS.API.CONSUMER.${name}.${stream}`),
  ]);
  const runOfOther = `${names.runSubject}.${hashOfAgent(other)}.0.owner.r.new`;
  const events = `${names.eventSubject}.${hashOfAgent(other)}.r`;
  return {
    publish: [
      ...[...theirs.publish, ...theirs.subscribe, ...all].map(literalOf),
      ...[...jetStream, '$JS.API.INFO', '$JS.API.STREAM.LIST', '$JS.API.STREAM.NAMES', runOfOther, events],
      `${poolsPrefix}.alive.w`,
      `${poolsPrefix}.alive.${tokenOfAgents([other])}.w`,
      `${poolsPrefix}.control.r`,
      `${poolsPrefix}.control.${hashOfAgent(own)}.r`,
    ].filter((subject) => !mine.publish.includes(subject)),
    subscribe: [...theirs.subscribe, ...theirs.publish, ...all, '>', `${poolsPrefix}.>`, '_INBOX.>', events].filter(
      (subject) => !mine.subscribe.includes(subject),
    ),
  };
}
