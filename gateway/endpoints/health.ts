import { isServiceError, unavailable } from '@agent-workflow/kit/errors';
import type { Ask, Services } from './endpoint.ts';

/** Whether the edge answers, and the caller's credentials hold. */
export const ping = (): string => '"pong"';

/** Whether the process lives: nothing behind it is asked. */
export const healthz = (): string => '"ok"';

/** Probes are asked every few seconds and want to know now. */
const probeMs = 2000;

/** Whether requests can be served: the record answers. @throws Unavailable when it does not, or not in time. */
export async function readyz(ask: Ask, { threads }: Services): Promise<string> {
  await threads.listOpenRuns({ limit: 1 }, ask.call(probeMs)).catch((error: unknown) => {
    throw isServiceError(error, 'Timeout') ? unavailable('the record is too slow to answer', error) : error;
  });
  return '"ready"';
}

/** The description of this interface. */
export const openApi = (_ask: Ask, services: Services): string => services.openApi();
