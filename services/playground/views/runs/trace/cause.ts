import type { RunError, SpanContent } from '@agent-workflow/client';

/** What the code of a node has thrown, as it is on record for those who may see it. */
export type Thrown = NonNullable<SpanContent['error']>;

/**
 * Why a node or a run failed, wherever the page says it: what was thrown, where the caller may see that and the service's sentence does not
 * hold it, else that sentence. The name of the node, with which it begins, is left out: it stands beside it.
 */
export function causeOf({ message, node = '' }: Pick<RunError, 'message' | 'node'>, thrown?: Thrown): string {
  if (thrown && !message.includes(thrown.message))
    return thrown.name === 'Error' ? thrown.message : `${thrown.name}: ${thrown.message}`;
  const opening = `node "${node}" failed: `;
  return message.startsWith(opening) ? message.slice(opening.length) : message;
}

/** The short word for why a run failed that stands beside its cause; `undefined` where the cause says more than the word does. */
export function reasonBeside(
  { reason, code }: { readonly reason?: string; readonly code?: string },
  thrown: Thrown | undefined,
): string | undefined {
  const isVague = reason === undefined || reason === 'unexpected';
  return thrown && isVague ? undefined : (reason ?? code);
}
