import type { Ask } from '../http/endpoint.ts';
import type { Services } from './common/services.ts';

/** Whether the edge answers, and the caller's credentials hold. */
export const ping = (): string => '"pong"';

/** Whether the process lives: nothing behind it is asked. */
export const healthz = (): string => '"ok"';

/**
 * Whether requests can be served: the record answers. What else is away or full is told beside it and changes nothing: a gateway
 * that left for its sake would take with it whatever still works.
 * @throws Unavailable when the record cannot be read, or not in time.
 */
export const readyz = async (_ask: Ask, { parts }: Services): Promise<string> =>
  JSON.stringify({ status: 'ready', degraded: await parts.check() });

/** The description of this interface. */
export const openApi = (_ask: Ask, services: Services): string => services.openApi();
