import type { Transport } from '@modelcontextprotocol/client';

/** The member of `_meta` under which a result comes as the server sent it. */
const rawField = 'agent-workflow/raw';

/** What the client of the protocol takes as the result of each method, whatever the server sent. */
const accepted: Readonly<Record<string, object>> = {
  'tools/call': { resultType: 'complete', content: [] },
  'tools/list': { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' },
};

/**
 * Keeps the results of calls and of lists as the server sent them: the client of the protocol refuses a result as a whole for one member that it does
 * not expect, also after a call has had its effect. {@link rawResult} gives them. What asks for input first is left to the client.
 */
export function keepRawResults(transport: Transport): void {
  const methods = new Map<unknown, string>();
  const send = transport.send.bind(transport);
  const receive = transport.onmessage;

  transport.send = (message, options) => {
    if ('method' in message && 'id' in message && Object.hasOwn(accepted, message.method))
      methods.set(message.id, message.method);
    return send(message, options);
  };

  transport.onmessage = (message, extra) => {
    const method = 'method' in message ? undefined : methods.get(message.id);
    if (method !== undefined && 'id' in message) methods.delete(message.id);
    const keeps = method !== undefined && 'result' in message && message.result['resultType'] !== 'input_required';
    const kept = keeps
      ? { ...message, result: { ...accepted[method], _meta: { [rawField]: message.result as unknown } } }
      : message;
    receive?.(kept, extra);
  };
}

/** The members of a result as the server sent it. */
export function rawResult(result: { readonly _meta?: unknown }): Readonly<Record<string, unknown>> {
  const meta = result._meta as Readonly<Record<string, unknown>> | undefined;
  return (meta?.[rawField] ?? result) as Readonly<Record<string, unknown>>;
}
