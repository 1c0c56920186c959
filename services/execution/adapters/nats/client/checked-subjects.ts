import type { NatsConnection } from 'nats';
import { isSubject } from './subject-text.ts';

function check(subject: string, other?: string): void {
  if (!isSubject(subject) || (other !== undefined && !isSubject(other)))
    throw new TypeError('a subject of NATS is of visible characters between single dots');
}

/**
 * Has the connection throw a TypeError for each message, request and subscription whose subject, reply subject or queue is no subject, before
 * anything is sent. What JetStream's manager of this connection sends is checked too.
 */
export function checkSubjects(connection: NatsConnection): NatsConnection {
  const publish = connection.publish.bind(connection);
  const request = connection.request.bind(connection);
  const requestMany = connection.requestMany.bind(connection);
  const subscribe = connection.subscribe.bind(connection);
  return Object.assign(connection, {
    publish: (...args: Parameters<typeof publish>) => {
      const [subject, , options] = args;
      check(subject, options?.reply);
      publish(...args);
    },
    request: async (...args: Parameters<typeof request>) => {
      check(args[0]);
      return request(...args);
    },
    requestMany: async (...args: Parameters<typeof requestMany>) => {
      check(args[0]);
      return requestMany(...args);
    },
    subscribe: (...args: Parameters<typeof subscribe>) => {
      const [subject, options] = args;
      check(subject, options?.queue);
      return subscribe(...args);
    },
  });
}
