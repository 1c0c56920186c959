import type { Msg } from 'nats';
import type { RunControl } from '../../ports/control.ts';
import type { NatsClient } from './client/client.ts';
import { hashOfAgent } from './client/pools.ts';
import { controlSubject } from './client/subjects.ts';

interface NatsControlOptions {
  readonly client: NatsClient;
  readonly prefix: string;
  /** The agents whose stops alone this replica may receive; absent: it receives all. */
  readonly agents?: readonly string[] | undefined;
}

/**
 * A stop has no payload and no headers. What the server itself sends has one of them: a publisher may name any subject as that of the
 * server's reply.
 */
const isStop = ({ data, headers }: Msg): boolean => data.length === 0 && headers === undefined;

/** Sends stops to all replicas on plain subjects. Nothing is stored. */
export function openNatsControl({ client, prefix, agents }: NatsControlOptions): RunControl {
  const subject = controlSubject(prefix);
  const listeners = new Set<(runId: string) => void>();
  const filters = agents ? agents.map((agent) => `${subject}.${hashOfAgent(agent)}.*`) : [`${subject}.*`];
  const subscriptions = filters.map((each) =>
    client.connection.subscribe(each, {
      callback: (error, message) => {
        if (error ?? !isStop(message)) return;
        const runId = message.subject.slice(message.subject.lastIndexOf('.') + 1);
        for (const listener of listeners) listener(runId);
      },
    }),
  );
  return {
    stop: (runId, agent) => {
      if (!client.isConnected()) return;
      client.connection.publish(
        agent === undefined ? `${subject}.${runId}` : `${subject}.${hashOfAgent(agent)}.${runId}`,
      );
    },

    onStop: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => listeners.delete(listener) };
    },

    [Symbol.asyncDispose]: async () => {
      listeners.clear();
      for (const each of subscriptions) if (!each.isClosed()) each.unsubscribe();
    },
  };
}
