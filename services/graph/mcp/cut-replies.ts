import type { Transport } from '@modelcontextprotocol/client';
import type { SentCall } from './asking.ts';

type Send = Transport['send'];
type SendOptions = Parameters<Send>[1];
type Message = Parameters<Send>[0];

/**
 * Ends each call whose stream of a reply ends before the reply came: the client of the protocol would wait for it until the timeout
 * of the call. `current` gives the call that is being sent. Calls of a transport without such streams are not affected.
 */
export function endCutReplies(transport: Transport, current: () => SentCall | undefined): void {
  const open = new Map<unknown, SentCall>();
  const send = transport.send.bind(transport);
  const receive = transport.onmessage;

  transport.send = (message: Message, options: SendOptions) => {
    const call = current();
    if (!call || !('id' in message) || !('method' in message)) return send(message, options);
    const { id } = message;
    open.set(id, call);
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      open.get(id)?.lose();
      open.delete(id);
    };
    return send(message, { ...options, onRequestStreamEnd });
  };

  transport.onmessage = (message, extra) => {
    if (!('method' in message)) open.delete(message.id);
    receive?.(message, extra);
  };
}
