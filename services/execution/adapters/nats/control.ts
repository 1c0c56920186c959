import type { RunControl } from '../../ports/control.ts';
import type { NatsClient } from './client/client.ts';
import { subjectPrefix } from './client/streams.ts';

interface NatsControlOptions {
  readonly client: NatsClient;
  readonly prefix: string;
}

/** Sends stops to all replicas on plain subjects. Nothing is stored. */
export function openNatsControl({ client, prefix }: NatsControlOptions): RunControl {
  const subject = `${subjectPrefix(prefix)}control`;
  const listeners = new Set<(runId: string) => void>();
  const subscription = client.connection.subscribe(`${subject}.*`, {
    callback: (error, message) => {
      if (error) return;
      const runId = message.subject.slice(subject.length + 1);
      for (const listener of listeners) listener(runId);
    },
  });
  return {
    stop: (runId) => {
      if (client.isConnected()) client.connection.publish(`${subject}.${runId}`);
    },

    onStop: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => listeners.delete(listener) };
    },

    [Symbol.asyncDispose]: async () => {
      listeners.clear();
      if (!subscription.isClosed()) subscription.unsubscribe();
    },
  };
}
